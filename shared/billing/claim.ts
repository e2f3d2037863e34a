import * as z from "zod";

import { dayMs, later } from "../core/time.ts";
import { planClaim, reserveIp, type Claim } from "../dedicated-ips/claim.ts";
import { DedicatedIp } from "../dedicated-ips/dedicated-ip.ts";
import { ipView } from "../dedicated-ips/view.ts";
import type { Context } from "../http/route.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { isOverdrawn } from "../wallet/wallet.ts";
import { openAccountBilling, withDue } from "./book.ts";
import { Preview, previewOf } from "./preview.ts";

export const ClaimAnswer = DedicatedIp.extend({ preview: Preview }).meta({
  id: "DedicatedIpClaimAnswer",
  description: "The claimed dedicated IP. In the answer of a dry run: the dedicated IP that the claim would create.",
});
type ClaimAnswer = z.input<typeof ClaimAnswer>;

/**
 * Claims a dedicated IP. For a dry run, answers with the costs of a claim instead. Throws the errors of `reserveIp`,
 * with everything that is due in `missing` if the wallet lacks money.
 */
export async function claimIp(claim: Claim, isDryRun: boolean, context: Context): Promise<ClaimAnswer> {
  if (isDryRun) return previewClaim(claim, context);
  try {
    return await reserveIp(claim, context);
  } catch (error) {
    if (!isOverdrawn(error)) throw error;
    throw await withDue(error, context.table, claim.accountId, context.now());
  }
}

/**
 * The answer that a claim would get, and the costs of the claim. Takes no address out of the stock. The costs assume
 * that the IP is ready at once: its first days are paid in advance, and later days are charged. Throws the errors of
 * `reserveIp`, except for a lack of money.
 */
async function previewClaim(claim: Claim, context: Context): Promise<ClaimAnswer> {
  const { table, commit, now, permissions } = context;
  return commit(async () => {
    const at = now();
    const { ip, hold } = await planClaim(claim, table, at);
    const book = await openAccountBilling(table, claim.accountId, at);
    const paid_until = later(at, dedicatedIpFirstDays * dayMs);
    const claimed = [{ ...ip, paid_until }];
    const preview = await previewOf(table, { ...book, claimed }, { held: hold.amount }, permissions);
    return { value: { ...ipView(ip), preview }, writes: [], changes: [] };
  });
}

/** Whether the answer of a claim comes from a dry run. */
export const isPreview = (output: unknown): boolean => z.object({ preview: z.object({}) }).safeParse(output).success;
