import type { OperationStatus, OperationType, RegisterDomainRequest } from "@aws-sdk/client-route-53-domains";

import {
  Refused,
  type Contact,
  type OperationKind,
  type RegistrarOperation,
  type Renewing,
  type Transferring,
} from "./registrar.ts";
import { codeOf, requireList, requireValue, registrarUnavailable, sentenceOf, type Domains } from "./route53-client.ts";
import { contactDetail } from "./route53-contact.ts";
import { expiryOf } from "./route53-registrations.ts";

type Operation = {
  OperationId?: string | undefined;
  Type?: OperationType | undefined;
  Status?: OperationStatus | undefined;
  Message?: string | undefined;
};
type Registering = { name: string; contact: Contact };

/** The types of Route 53's operations, by our kind of operation. */
const operationTypes: Record<OperationKind, readonly OperationType[]> = {
  register: ["REGISTER_DOMAIN"],
  renew: ["RENEW_DOMAIN"],
  transfer: ["TRANSFER_IN_DOMAIN"],
  // The second type is the transfer of a name to another AWS account.
  transfer_out: ["TRANSFER_OUT_DOMAIN", "INTERNAL_TRANSFER_OUT_DOMAIN"],
};
/** The kinds of the operations that we begin. */
type Begun = Exclude<OperationKind, "transfer_out">;
const nouns: Record<Begun, string> = { register: "registration", renew: "renewal", transfer: "transfer" };
const participles: Record<Begun, string> = {
  register: "registered",
  renew: "renewed",
  transfer: "transferred",
};

/** What a failed operation did not do, by the type of the operation. */
const failures: Partial<Record<OperationType, string>> = {
  REGISTER_DOMAIN: "register the name",
  RENEW_DOMAIN: "renew the name",
  TRANSFER_IN_DOMAIN: "transfer the name",
};

const states: Record<OperationStatus, RegistrarOperation["state"]> = {
  SUBMITTED: "running",
  IN_PROGRESS: "running",
  SUCCESSFUL: "succeeded",
  FAILED: "failed",
  ERROR: "failed",
};

/** An operation of Route 53 in our form. */
export function operationOf({ OperationId, Type, Status, Message = "" }: Operation): RegistrarOperation {
  const id = requireValue(OperationId);
  const state = requireValue(states[requireValue(Status)]);
  if (state !== "failed") return { id, state };
  const undone = (Type && failures[Type]) ?? "make the change";
  return { id, state, reason: sentenceOf(Message) || `The registry did not ${undone}.` };
}

/**
 * The top-level domains that need data which our contacts do not have, such as the number of a company. Route 53 calls
 * these data `ExtraParam`. Without them, Route 53 refuses each registration and each transfer.
 */
const topLevelsWithExtraData = new Set("au com.au net.au ca es fi it ru se sg uk co.uk me.uk org.uk".split(" "));

/** Whether names under a top-level domain can be registered and transferred with the data of our contacts. */
export const isOffered = (tld: string): boolean => !topLevelsWithExtraData.has(tld);

async function requestOf({ name, contact }: Registering): Promise<RegisterDomainRequest> {
  const detail = await contactDetail(contact);
  return {
    DomainName: name,
    DurationInYears: 1,
    AutoRenew: false,
    AdminContact: detail,
    RegistrantContact: detail,
    TechContact: detail,
    BillingContact: detail,
    PrivacyProtectAdminContact: true,
    PrivacyProtectRegistrantContact: true,
    PrivacyProtectTechContact: true,
    PrivacyProtectBillingContact: true,
  };
}

/** The sentence for a final refusal by Route 53. Undefined for a temporary error, and for a mistake of ours. */
function refusalOf(error: unknown, kind: Begun): string | undefined {
  switch (codeOf(error)) {
    case "InvalidInput":
      return `The registrar refuses this ${nouns[kind]}. Its message: ${sentenceOf((error as Error).message)}`;
    case "UnsupportedTLD":
      return `Names under this top-level domain cannot be ${participles[kind]} here.`;
    case "TLDRulesViolation":
      return `The rules of the registry do not allow this ${nouns[kind]}.`;
    // This error lasts until an operator gets a higher limit from AWS. It counts as final, so that the customer's money
    // is not held during this time.
    case "DomainLimitExceeded":
      return "No more names can be registered at the moment.";
    default:
      return undefined;
  }
}

/**
 * The operation of a kind that is already running for a name. `id` is the operation that Route 53 named in its refusal;
 * if it is of another kind or name, the running operations are searched. Throws 503 when none is found.
 */
async function runningOf(
  { client, sdk }: Domains,
  name: string,
  kind: OperationKind,
  id: string | undefined,
): Promise<RegistrarOperation> {
  const detail =
    id === undefined ? undefined : await client.send(new sdk.GetOperationDetailCommand({ OperationId: id }));
  if (operationTypes[kind].some((type) => type === detail?.Type) && detail?.DomainName === name)
    return operationOf(detail);
  const found = await latestOperation({ client, sdk }, name, kind, ["SUBMITTED", "IN_PROGRESS"]);
  if (!found) throw registrarUnavailable();
  return found;
}

/**
 * Sends a request that begins an operation. If an operation of this kind is running already, returns that operation.
 *
 * The request is sent only once. If an earlier request had its effect, but the answer was lost, Route 53 refuses this
 * request. So after a refusal, `isDone` looks for the effect. If the effect is there, `begin` throws 503, and the
 * caller looks for the result later. Otherwise `begin` throws `Refused`.
 */
async function begin(
  domains: Domains,
  { name, kind }: { name: string; kind: Begun },
  send: () => Promise<{ OperationId?: string | undefined }>,
  isDone: () => Promise<boolean>,
): Promise<RegistrarOperation> {
  try {
    const { OperationId } = await send();
    return { id: requireValue(OperationId), state: "running" };
  } catch (error) {
    if (error instanceof domains.sdk.DuplicateRequest) return runningOf(domains, name, kind, error.requestId);
    const refusal = refusalOf(error, kind);
    if (refusal === undefined) throw error;
    if (await isDone()) throw registrarUnavailable();
    throw new Refused(refusal);
  }
}

/** Begins to register a name. */
export async function register(domains: Domains, input: Registering): Promise<RegistrarOperation> {
  const { once, sdk } = domains;
  const { name } = input;
  const request = await requestOf(input);
  return begin(
    domains,
    { name, kind: "register" },
    () => once.send(new sdk.RegisterDomainCommand(request)),
    async () => (await expiryOf(domains, name)) !== undefined,
  );
}

/** Begins to transfer a name to us. The request has no nameservers, so the name keeps its present nameservers. */
export async function transfer(domains: Domains, input: Transferring): Promise<RegistrarOperation> {
  const { once, sdk } = domains;
  const { name, authCode } = input;
  const request = { ...(await requestOf(input)), AuthCode: authCode };
  return begin(
    domains,
    { name, kind: "transfer" },
    () => once.send(new sdk.TransferDomainCommand(request)),
    async () => (await expiryOf(domains, name)) !== undefined,
  );
}

/**
 * Begins to renew a name. Throws `Refused` for a name that has to be restored from redemption, because Route 53 has no
 * call that restores a name.
 */
export function renew(domains: Domains, { name, years, expiresAt, restore }: Renewing): Promise<RegistrarOperation> {
  if (restore) throw new Refused("Names in redemption cannot be restored through this registrar's API.");
  const { once, sdk } = domains;
  const year = new Date(expiresAt).getUTCFullYear();
  const request = { DomainName: name, DurationInYears: years, CurrentExpiryYear: year };
  return begin(
    domains,
    { name, kind: "renew" },
    () => once.send(new sdk.RenewDomainCommand(request)),
    async () => ((await expiryOf(domains, name))?.getUTCFullYear() ?? 0) > year,
  );
}

/**
 * The latest operation of a kind for a name; undefined if there is none. `which` selects the operations in some states,
 * or the operations that were submitted at a date or later.
 */
export async function latestOperation(
  { client, sdk }: Pick<Domains, "client" | "sdk">,
  name: string,
  kind: OperationKind,
  which: Date | OperationStatus[],
): Promise<RegistrarOperation | undefined> {
  const filter = which instanceof Date ? { SubmittedSince: which } : { Status: which };
  const order = { Type: [...operationTypes[kind]], SortBy: "SubmittedDate" as const, SortOrder: "DESC" as const };
  let marker: string | undefined;
  do {
    const page = marker === undefined ? {} : { Marker: marker };
    const command = new sdk.ListOperationsCommand({ ...filter, ...order, ...page, MaxItems: 100 });
    const { Operations, NextPageMarker } = await client.send(command);
    const found = requireList(Operations).find(({ DomainName }) => DomainName?.toLowerCase() === name);
    if (found) return operationOf(found);
    marker = NextPageMarker;
  } while (marker !== undefined);
  return undefined;
}
