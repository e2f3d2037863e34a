import * as z from "zod";

import { getAccount } from "../../shared/accounts/visible.ts";
import { requestClasses } from "../../shared/limits/limits.ts";
import { limitClasses } from "../../shared/rate-limits/classes.ts";
import { OwnLimits, limitsKey } from "../../shared/rate-limits/limiter.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import { type Command, accountOption } from "./commands.ts";

const most = 1_000_000;

const Count = z
  .string()
  .regex(/^[1-9]\d{0,6}$/, { error: `Not a whole number from 1 to ${most}`, abort: true })
  .refine((text) => Number(text) <= most, { error: `More than ${most}` });

type RequestClass = keyof typeof requestClasses;

/**
 * The classes of requests. The classes of logins at the mail servers are left out, because their limits are not per
 * account.
 */
const classNames = Object.keys(requestClasses) as RequestClass[];

const limitClass = {
  description: `The class of routes: ${classNames.join(", ")}.`,
  schema: z.enum(classNames, { error: `Not one of ${classNames.join(", ")}` }),
};

const classOf = (options: Record<string, string>): RequestClass => limitClass.schema.parse(options["class"]);

/** The limit of every class for an account. `own` is true if the account has its own limit. */
const limitsView = (accountId: string, own: z.output<typeof OwnLimits> | undefined): Record<string, unknown> => ({
  account_id: accountId,
  limits: classNames.map((name) => {
    const { perMinute, burst } = own?.classes[name] ?? limitClasses[name];
    return { class: name, per_minute: perMinute, burst, own: own?.classes[name] !== undefined };
  }),
});

/** The operator's commands for the rate limits of an account. */
export const limitCommands: Record<string, Command> = {
  "limits show": {
    summary: "Show an account's rate limits. `own` marks the account's own limits.",
    options: { account: accountOption },
    run: async (table, options) => {
      const { id } = await getAccount(table, options["account"] ?? "");
      return limitsView(id, await table.get(limitsKey(id), OwnLimits));
    },
  },
  "limits set": {
    summary: "Set an account's own rate limit. The new limit takes effect within a minute.",
    options: {
      account: accountOption,
      class: limitClass,
      "per-minute": {
        description: `The number of requests per minute over a longer time, 1 to ${most}.`,
        schema: Count,
      },
      burst: {
        description: `The number of requests that can be sent at once after a pause, 1 to ${most}.`,
        schema: Count,
      },
    },
    run: async (table, options) => {
      const { account: id = "" } = options;
      const limit = { perMinute: Number(options["per-minute"]), burst: Number(options["burst"]) };
      return limitsView(id, await setOwnLimit(table, id, classOf(options), limit));
    },
  },
  "limits clear": {
    summary: "Remove an account's own rate limit. The limit of the class applies again.",
    options: { account: accountOption, class: limitClass },
    run: async (table, options) => {
      const { account: id = "" } = options;
      return limitsView(id, await setOwnLimit(table, id, classOf(options), undefined));
    },
  },
};
