import * as sqliteBloom from "./index.js";

export * from "./index.js";
export default sqliteBloom;
