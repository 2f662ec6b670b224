import sqliteBloom from "./index.cjs";

export const { getLoadablePath, load } = sqliteBloom;
