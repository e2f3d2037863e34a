import type { Transferable } from "@aws-sdk/client-route-53-domains";

import type { TransferOffer } from "./registrar.ts";
import { codeOf, requireValue, sentenceOf, type Domains } from "./route53-client.ts";

type Transferability = Pick<TransferOffer, "status" | "reason">;

const transferStatuses: Partial<Record<Transferable, TransferOffer["status"]>> = {
  TRANSFERABLE: "transferable",
  DONT_KNOW: "unknown",
  DOMAIN_IN_OWN_ACCOUNT: "ours",
  PREMIUM_DOMAIN: "premium",
};

/**
 * Patterns of the messages of refusals, each with the status of the refusal. The first pattern that matches counts.
 * Route 53 has one code for all refusals, and its messages are for people. If no pattern matches, the status is
 * `refused`, with the message as the reason.
 */
const refusalPatterns: readonly [RegExp, TransferOffer["status"]][] = [
  [/not registered|is available/i, "not_registered"],
  [/\bauth/i, "auth_code_wrong"],
  [/\b60 days|recently/i, "too_soon"],
  [/TransferProhibited|\block/i, "locked"],
];

const movedBetweenAccounts = "The name is in another account of the same registrar, which has to hand the name over.";

/** Whether Route 53 can transfer a name to our AWS account, with its reason for a refusal. */
export async function transferability(
  { client, sdk }: Domains,
  name: string,
  authCode: string,
): Promise<Transferability> {
  try {
    const command = new sdk.CheckDomainTransferabilityCommand({ DomainName: name, AuthCode: authCode });
    const { Transferability, Message = "" } = await client.send(command);
    const transferable = requireValue(Transferability?.Transferable);
    if (transferable === "DOMAIN_IN_ANOTHER_ACCOUNT") return { status: "refused", reason: movedBetweenAccounts };
    if (transferable !== "UNTRANSFERABLE") return { status: transferStatuses[transferable] ?? "unknown" };
    const status = refusalPatterns.find(([pattern]) => pattern.test(Message))?.[1];
    return status ? { status } : { status: "refused", ...(Message === "" ? {} : { reason: sentenceOf(Message) }) };
  } catch (error) {
    const code = codeOf(error);
    if (code === "UnsupportedTLD") return { status: "unsupported_tld" };
    if (code === "InvalidInput") return { status: "invalid" };
    if (code === "TLDInMaintenance") return { status: "unknown" };
    throw error;
  }
}
