import { useOwnTable } from "./own-table.ts";

await useOwnTable();
