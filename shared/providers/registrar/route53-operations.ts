import type {
  ContactDetail,
  CountryCode,
  OperationStatus,
  OperationType,
  RegisterDomainRequest,
} from "@aws-sdk/client-route-53-domains";

import { Refused, type Contact, type OperationKind, type RegistrarOperation, type Renewing } from "./registrar.ts";
import { codeOf, requireList, requireValue, registrarUnavailable, type Domains } from "./route53-client.ts";
import { expiryOf } from "./route53-registrations.ts";

type Operation = {
  OperationId?: string | undefined;
  Type?: OperationType | undefined;
  Status?: OperationStatus | undefined;
  Message?: string | undefined;
};
type Registering = { name: string; contact: Contact };

const types: Record<OperationKind, OperationType> = { register: "REGISTER_DOMAIN", renew: "RENEW_DOMAIN" };

const longestReason = 200;

/** A message of Route 53 as a sentence for people, without the number of our AWS account that it may contain. */
function sentenceOf(message: string): string {
  const plain = message
    .replace(/\p{C}+/gu, " ")
    .replace(/\b\d{12}\b/g, "…")
    .trim();
  return plain.length > longestReason ? `${plain.slice(0, longestReason - 1)}…` : plain;
}

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
  const done = Type === types.renew ? "renew" : "register";
  return { id, state, reason: sentenceOf(Message) || `The registry did not ${done} the name.` };
}

/** A phone number in E.164 with a dot after the country code; undefined for an invalid number. */
async function dottedPhone(phone: string): Promise<string | undefined> {
  const { parsePhoneNumberFromString } = await import("libphonenumber-js/min");
  const parsed = parsePhoneNumberFromString(phone);
  return parsed && `+${parsed.countryCallingCode}.${parsed.nationalNumber}`;
}

async function detailOf(contact: Contact): Promise<ContactDetail> {
  const phone = await dottedPhone(contact.phone);
  if (phone === undefined) throw new Refused("The contact's phone number is not valid.");
  const isPerson = contact.organization === "";
  return {
    FirstName: contact.first_name,
    LastName: contact.last_name,
    ContactType: isPerson ? "PERSON" : "COMPANY",
    ...(isPerson ? {} : { OrganizationName: contact.organization }),
    AddressLine1: contact.address_1,
    City: contact.city,
    ...(contact.state === "" ? {} : { State: contact.state }),
    CountryCode: contact.country as CountryCode,
    ZipCode: contact.zip,
    PhoneNumber: phone,
    Email: contact.email,
  };
}

async function requestOf({ name, contact }: Registering): Promise<RegisterDomainRequest> {
  const detail = await detailOf(contact);
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

/** The sentence for a final refusal by Route 53; undefined for an error that may pass, or that is a mistake of ours. */
function refusalOf(error: unknown, kind: OperationKind): string | undefined {
  switch (codeOf(error)) {
    case "InvalidInput": {
      const refused = kind === "register" ? "registration" : "renewal";
      return `The registrar refuses this ${refused}. Its message: ${sentenceOf((error as Error).message)}`;
    }
    case "UnsupportedTLD":
      return `Names under this top-level domain cannot be ${kind}ed here.`;
    case "TLDRulesViolation":
      return kind === "register"
        ? "The rules of the registry do not allow this registration."
        : "The rules of the registry do not allow this renewal.";
    // An operator has to request a higher limit; no customer's money should wait for that.
    case "DomainLimitExceeded":
      return "No more names can be registered at the moment.";
    default:
      return undefined;
  }
}

/** The operation of this kind that is already running for the name. Throws 503 when none is found. */
async function runningOf(
  { client, sdk }: Domains,
  name: string,
  kind: OperationKind,
  id: string | undefined,
): Promise<RegistrarOperation> {
  const detail =
    id === undefined ? undefined : await client.send(new sdk.GetOperationDetailCommand({ OperationId: id }));
  if (detail?.Type === types[kind] && detail.DomainName === name) return operationOf(detail);
  const found = await latestOperation({ client, sdk }, name, kind, ["SUBMITTED", "IN_PROGRESS"]);
  if (!found) throw registrarUnavailable();
  return found;
}

/**
 * Sends a request that begins an operation. If one of this kind is already running, returns that one. Sends the request
 * only once: if an answer was lost, a second request is refused because the first one had its effect. So before it throws
 * `Refused`, it asks `isDone` whether the effect is there. If it is, it throws 503, and the caller asks again.
 */
async function begin(
  domains: Domains,
  { name, kind }: { name: string; kind: OperationKind },
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

/** Begins to renew a name. Route 53 has no call that restores a name in redemption. */
export function renew(domains: Domains, { name, years, expiresAt, restore }: Renewing): Promise<RegistrarOperation> {
  if (restore) throw new Refused("The registrar does not restore names by itself.");
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

/** The latest operation of a kind for a name: among those in the states `which`, or submitted since the date `which`. */
export async function latestOperation(
  { client, sdk }: Pick<Domains, "client" | "sdk">,
  name: string,
  kind: OperationKind,
  which: Date | OperationStatus[],
): Promise<RegistrarOperation | undefined> {
  const filter = which instanceof Date ? { SubmittedSince: which } : { Status: which };
  const order = { Type: [types[kind]], SortBy: "SubmittedDate" as const, SortOrder: "DESC" as const };
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
