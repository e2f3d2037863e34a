import * as z from "zod";

import { getAccount } from "../../shared/accounts/visible.ts";
import { Id } from "../../shared/core/ids.ts";
import { limitClasses, limitClassNames, type LimitClass } from "../../shared/rate-limits/classes.ts";
import { AccountLimits, limitsKey } from "../../shared/rate-limits/limiter.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import type { Command } from "./commands.ts";

const most = 1_000_000;

const Count = z
  .string()
  .regex(/^[1-9]\d{0,6}$/, { error: `Not a whole number from 1 to ${most}`, abort: true })
  .refine((text) => Number(text) <= most, { error: `More than ${most}` });

const account = { description: "The account's id.", schema: Id };
const limitClass = {
  description: `The class of routes: ${limitClassNames.join(", ")}.`,
  schema: z.enum(limitClassNames, { error: `Not one of ${limitClassNames.join(", ")}` }),
};

const classOf = (options: Record<string, string>): LimitClass => limitClass.schema.parse(options["class"]);

/** Every limit class with the limit that applies to the account, and whether the account has its own. */
const answer = (accountId: string, own: z.output<typeof AccountLimits> | undefined): Record<string, unknown> => ({
  account_id: accountId,
  limits: limitClassNames.map((name) => {
    const { perMinute, burst } = own?.classes[name] ?? limitClasses[name];
    return { class: name, per_minute: perMinute, burst, own: own?.classes[name] !== undefined };
  }),
});

/** The operator's commands for the rate limits of an account. */
export const limitCommands: Record<string, Command> = {
  "limits show": {
    summary: "Show an account's rate limits, and which of them are its own.",
    options: { account },
    run: async (table, options) => {
      const { id } = await getAccount(table, options["account"] ?? "");
      return answer(id, await table.get(limitsKey(id), AccountLimits));
    },
  },
  "limits set": {
    summary: "Give an account a rate limit of its own, which holds within a minute.",
    options: {
      account,
      class: limitClass,
      "per-minute": { description: `Requests a minute for ever, 1 to ${most}.`, schema: Count },
      burst: { description: `Requests at once after a pause, 1 to ${most}.`, schema: Count },
    },
    run: async (table, options) => {
      const { account: id = "" } = options;
      const limit = { perMinute: Number(options["per-minute"]), burst: Number(options["burst"]) };
      return answer(id, await setOwnLimit(table, id, classOf(options), limit));
    },
  },
  "limits clear": {
    summary: "Take an account's own rate limit from it; that of the class holds again.",
    options: { account, class: limitClass },
    run: async (table, options) => {
      const { account: id = "" } = options;
      return answer(id, await setOwnLimit(table, id, classOf(options), undefined));
    },
  },
};
