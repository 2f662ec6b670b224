import sqliteBloom from "./index.cjs";

export default sqliteBloom;
export const { addAll, build, getLoadablePath, load } = sqliteBloom;
