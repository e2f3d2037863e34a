import { Id } from "../../shared/core/ids.ts";

/** The option `--account` of commands that work in one account. */
export const accountOption = { description: "The account's id.", schema: Id };
