import { limitClassNames } from "../../shared/rate-limits/classes.ts";
import { limitsKey } from "../../shared/rate-limits/limiter.ts";
import { newAccount, testTable, type Account } from "./world.ts";

const roomy = { perMinute: 6_000_000, burst: 1_000_000 };

/** Makes an account with very high limits, for tests that send many requests. */
export async function newRoomyAccount(options: Parameters<typeof newAccount>[0] = {}): Promise<Account> {
  const account = await newAccount(options);
  const classes = Object.fromEntries(limitClassNames.map((name) => [name, roomy]));
  await testTable().attempt({ put: { ...limitsKey(account.id), classes } });
  return account;
}
