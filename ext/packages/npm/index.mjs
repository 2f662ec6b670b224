import sqliteBloom from "./index.cjs";

export const { addAll, build, getLoadablePath, load } = sqliteBloom;
