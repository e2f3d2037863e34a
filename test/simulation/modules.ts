import { billingModule } from "./billing.ts";
import { ledgerModule } from "./ledger.ts";
import { purchasesModule } from "./purchases.ts";
import type { Bug, Module } from "./world.ts";

/** The parts of the product that are simulated together. */
export const modules: readonly Module[] = [ledgerModule, billingModule, purchasesModule];

/** The mistakes that can be planted, by name. */
export const bugs: Record<string, Bug> = Object.assign({}, ...modules.map(({ bugs }) => bugs));

/** The parts that a mistake is planted in; all of them when none is. */
export const modulesWith = (bug?: string): readonly Module[] =>
  bug === undefined ? modules : modules.filter(({ bugs }) => bug in bugs);
