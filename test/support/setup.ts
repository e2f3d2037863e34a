import "./rsa-keys.ts";
import { useOwnTable } from "./own-table.ts";

await useOwnTable();
