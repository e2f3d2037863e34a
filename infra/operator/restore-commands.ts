import * as z from "zod";

import { clock } from "../../shared/core/time.ts";
import { restoreAccount } from "../restore/account.ts";
import { accountOption, type Command } from "./commands.ts";
import { requireTable } from "./connect.ts";

/** The operator's command that restores an account: docs/operations.md. */
export const restoreCommands: Record<string, Command> = {
  "restore account": {
    summary: "Restore an account's resources from a table that was restored by point-in-time recovery.",
    options: {
      account: accountOption,
      "from-table": {
        description: "The restored table.",
        schema: z.string().regex(/^[A-Za-z0-9_.-]{3,255}$/, "the name of a table"),
      },
      "dry-run": {
        description: "Only counts the changes, and shows the conflicts. Changes nothing.",
        schema: z.string().optional(),
        isSwitch: true,
      },
    },
    run: async (live, { account = "", "from-table": from = "", "dry-run": dryRun }, { open }) => {
      const past = open(from);
      await requireTable(past, "--from-table", from);
      const options = { live, past, pastName: from, accountId: account, dryRun: dryRun !== undefined, now: clock() };
      const { problems, ...result } = await restoreAccount(options);
      if (problems.length > 0) {
        const zones = result.zones_left.map((zone) => `This zone is left: ${zone}`);
        throw new Error(`The account was restored, but: ${[...problems, ...zones].join("\n")}`);
      }
      return { account_id: account, ...(dryRun === undefined ? {} : { dry_run: true }), ...result };
    },
  },
};
