import sqliteBloom from "./index.cjs";

export default sqliteBloom;
export const { Filter, addAll, getLoadablePath, load } = sqliteBloom;
