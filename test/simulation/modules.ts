import { billingModule } from "./billing.ts";
import { ipsModule } from "./ips.ts";
import { ledgerModule } from "./ledger.ts";
import { livesModule } from "./lives.ts";
import { purchasesModule } from "./purchases.ts";
import { rechargesModule } from "./recharges.ts";
import type { Bug, Module } from "./world.ts";

/**
 * The modules that are simulated together. They rest in this order. `purchases` rests after the other modules with
 * domains, because it checks that no domain of any module is due.
 */
export const modules: readonly Module[] = [
  ledgerModule,
  ipsModule,
  livesModule,
  purchasesModule,
  billingModule,
  rechargesModule,
];

/** The mistakes that can be planted, by name. */
export const bugs: Record<string, Bug> = Object.assign({}, ...modules.map(({ bugs }) => bugs));

/** The modules that know a mistake. All modules if none is planted. */
export const modulesWith = (bug?: string): readonly Module[] =>
  bug === undefined ? modules : modules.filter(({ bugs }) => bug in bugs);
