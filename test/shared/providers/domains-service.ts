import * as z from "zod";

import { amzJson } from "./amz-json.ts";
import { startLoopback, type Fault, type Recorded } from "./loopback.ts";

type Operation = {
  OperationId: string;
  Status: string;
  Type: string;
  DomainName: string;
  SubmittedDate: number;
  Message?: string;
};
type Domain = {
  DomainName: string;
  Nameservers: { Name: string }[];
  AutoRenew: boolean;
  CreationDate: number;
  RegistrantContact?: Record<string, string>;
  RegistrantPrivacy: boolean;
  ExpirationDate: number;
  StatusList: string[];
};
type Price = { Name: string; RegistrationPrice: Amount; RenewalPrice: Amount; TransferPrice?: Amount };
/** A name at another registrar, and the answer if its transfer is refused. */
type Elsewhere = { authCode: string; refusal?: { Transferable: string; Message?: string } };
type Amount = { Price: number; Currency: string };

const Body = z.object({
  AuthCode: z.string().optional(),
  DomainName: z.string().optional(),
  OperationId: z.string().optional(),
  Tld: z.string().optional(),
  Marker: z.string().optional(),
  MaxItems: z.int().default(20),
  SubmittedSince: z.number().default(0),
  Status: z.array(z.string()).optional(),
  Type: z.array(z.string()).optional(),
  SortOrder: z.enum(["ASC", "DESC"]).default("ASC"),
  CurrentExpiryYear: z.int().optional(),
  Nameservers: z.array(z.object({ Name: z.string() })).default([]),
  RegistrantPrivacy: z.boolean().default(true),
  RegistrantContact: z.record(z.string(), z.string()).optional(),
});
type Body = z.output<typeof Body>;

/** An error as Route 53 Domains writes it. */
export const refusal = (code: string, message = "No", more: Record<string, unknown> = {}, status = 400) =>
  amzJson({ __type: `com.amazonaws.route53domains#${code}`, message, ...more }, status);

export type DomainsService = Awaited<ReturnType<typeof startDomains>>;

const yearSeconds = 31_536_000;

/** The time on the service's clock, in seconds. */
const now = Date.parse("2026-01-02T03:04:05Z") / 1_000;

/** A server with the protocol of Amazon Route 53 Domains (AWS JSON 1.1, 2014-05-15), with its names in memory. */
export async function startDomains(...troubles: Fault[]) {
  const domains = new Map<string, Domain>();
  const operations: Operation[] = [];
  const prices: Price[] = [
    {
      Name: "com",
      RegistrationPrice: { Price: 14, Currency: "USD" },
      RenewalPrice: { Price: 13.1, Currency: "USD" },
      TransferPrice: { Price: 12.5, Currency: "USD" },
    },
    {
      Name: "com.mx",
      RegistrationPrice: { Price: 9.99, Currency: "USD" },
      RenewalPrice: { Price: 9.99, Currency: "USD" },
    },
  ];
  const availability = new Map<string, string>();
  const elsewhere = new Map<string, Elsewhere>();
  const missing = (name: string) => refusal("InvalidInput", `Domain ${name} not found in 111122223333 account.`);
  const isSold = (name: string): boolean => prices.some(({ Name }) => name.endsWith(`.${Name}`));

  function begin(Type: string, DomainName: string) {
    const OperationId = `operation-${operations.length + 1}`;
    operations.push({ OperationId, Status: "SUBMITTED", Type, DomainName, SubmittedDate: now + operations.length });
    return amzJson({ OperationId });
  }

  function register(name: string) {
    const running = operations.find((one) => one.DomainName === name && one.Status === "SUBMITTED");
    if (running) {
      return refusal("DuplicateRequest", "A request is already pending.", { requestId: running.OperationId });
    }
    if (!isSold(name)) return refusal("UnsupportedTLD");
    if (domains.has(name)) return refusal("InvalidInput", "The domain is not available.");
    return begin("REGISTER_DOMAIN", name);
  }

  function checkTransferability({ DomainName = "", AuthCode }: Body) {
    const found = elsewhere.get(DomainName);
    const { Transferable, Message } = found?.refusal ?? {
      Transferable: found?.authCode === AuthCode ? "TRANSFERABLE" : "UNTRANSFERABLE",
      Message: undefined,
    };
    return amzJson({ Transferability: { Transferable }, ...(Message === undefined ? {} : { Message }) });
  }

  function transfer({ DomainName = "", AuthCode }: Body) {
    const running = operations.find((one) => one.DomainName === DomainName && one.Status === "SUBMITTED");
    if (running) return refusal("DuplicateRequest", "A request is pending.", { requestId: running.OperationId });
    if (elsewhere.get(DomainName)?.authCode !== AuthCode) return refusal("InvalidInput", "The code is not valid.");
    return begin("TRANSFER_IN_DOMAIN", DomainName);
  }

  function page(all: readonly unknown[], { Marker = "0", MaxItems }: Body, name: string) {
    const [from, size] = [Number(Marker), Math.min(MaxItems, 100)];
    const more = from + size < all.length ? { NextPageMarker: String(from + size) } : {};
    return amzJson({ [name]: all.slice(from, from + size), ...more });
  }

  function listPrices(body: Body) {
    if (body.Tld === undefined) return page(prices, body, "Prices");
    const own = prices.filter(({ Name }) => Name === body.Tld);
    return own.length > 0 ? amzJson({ Prices: own }) : refusal("UnsupportedTLD");
  }

  function listOperations(body: Body) {
    const found = operations.filter(
      ({ Status, Type, SubmittedDate }) =>
        SubmittedDate >= body.SubmittedSince &&
        (body.Status?.includes(Status) ?? true) &&
        (body.Type?.includes(Type) ?? true),
    );
    return page(body.SortOrder === "DESC" ? found.toReversed() : found, body, "Operations");
  }

  function checkAvailability(name: string) {
    if (!name.includes(".")) return refusal("InvalidInput", "domain name must contain more than 1 label");
    if (!isSold(name)) return refusal("UnsupportedTLD");
    return amzJson({ Availability: availability.get(name) ?? (domains.has(name) ? "UNAVAILABLE" : "AVAILABLE") });
  }

  function renew({ DomainName, ExpirationDate }: Domain, { CurrentExpiryYear }: Body) {
    const running = operations.find((one) => one.DomainName === DomainName && one.Status === "SUBMITTED");
    if (running) return refusal("DuplicateRequest", "A request is pending.", { requestId: running.OperationId });
    const year = new Date(ExpirationDate * 1_000).getUTCFullYear();
    if (year !== CurrentExpiryYear) return refusal("InvalidInput", `The domain expires in ${year}.`);
    return begin("RENEW_DOMAIN", DomainName);
  }

  function lock(action: string, domain: Domain) {
    const others = domain.StatusList.filter((status) => status !== "clientTransferProhibited");
    const isOn = action === "EnableDomainTransferLock";
    domain.StatusList = isOn ? ["clientTransferProhibited", ...others] : others;
    return begin(isOn ? "ENABLE_TRANSFER_LOCK" : "DISABLE_TRANSFER_LOCK", domain.DomainName);
  }

  /** Does an action on a registered name. */
  function own(action: string, domain: Domain, body: Body) {
    const { DomainName } = domain;
    if (action === "GetDomainDetail") return amzJson(domain);
    if (action === "UpdateDomainNameservers") {
      domain.Nameservers = body.Nameservers;
      return begin("UPDATE_NAMESERVER", DomainName);
    }
    if (action === "DeleteDomain") {
      domains.delete(DomainName);
      return begin("DELETE_DOMAIN", DomainName);
    }
    if (action === "RenewDomain") return renew(domain, body);
    if (action === "UpdateDomainContact" && body.RegistrantContact) {
      domain.RegistrantContact = body.RegistrantContact;
      return begin("UPDATE_DOMAIN_CONTACT", DomainName);
    }
    if (action === "RetrieveDomainAuthCode") return amzJson({ AuthCode: `code of ${DomainName}` });
    if (action === "EnableDomainTransferLock" || action === "DisableDomainTransferLock") return lock(action, domain);
    if (action === "UpdateDomainContactPrivacy") {
      domain.RegistrantPrivacy = body.RegistrantPrivacy;
      return begin("CHANGE_PRIVACY_PROTECTION", DomainName);
    }
    if (action !== "DisableDomainAutoRenew") return refusal("UnknownOperationException");
    domain.AutoRenew = false;
    return amzJson({});
  }

  function answer({ headers, body: text }: Recorded) {
    const [version, action = ""] = String(headers["x-amz-target"]).split(".");
    if (version !== "Route53Domains_v20140515") return refusal("UnknownOperationException");
    const body = Body.parse(JSON.parse(text));
    const name = body.DomainName ?? "";
    if (action === "ListPrices") return listPrices(body);
    if (action === "ListOperations") return listOperations(body);
    if (action === "CheckDomainAvailability") return checkAvailability(name);
    if (action === "RegisterDomain") return register(name);
    if (action === "CheckDomainTransferability") return checkTransferability(body);
    if (action === "TransferDomain") return transfer(body);
    if (action === "GetOperationDetail") {
      const found = operations.find(({ OperationId }) => OperationId === body.OperationId);
      return found ? amzJson(found) : refusal("InvalidInput", "Operation not found.");
    }
    const domain = domains.get(name);
    return domain ? own(action, domain, body) : missing(name);
  }

  /** Makes a running registration, or a renewal for a year, succeed. */
  function settle(id: string): void {
    const operation = operations.find(({ OperationId }) => OperationId === id);
    if (!operation) throw new Error(`no operation ${id}`);
    operation.Status = "SUCCESSFUL";
    const { DomainName, Type } = operation;
    const known = Type === "RENEW_DOMAIN" ? domains.get(DomainName) : undefined;
    if (known) known.ExpirationDate += yearSeconds;
    else domains.set(DomainName, newDomain(DomainName));
  }

  const service = await startLoopback(answer, () => troubles.shift());
  return { ...service, domains, elsewhere, operations, prices, availability, troubles, settle };
}

/** A name that was just registered. */
export const newDomain = (DomainName: string): Domain => ({
  DomainName,
  Nameservers: [{ Name: "NS-1.awsdns-1.com" }, { Name: "ns-2.awsdns-2.net." }],
  AutoRenew: true,
  CreationDate: now,
  RegistrantPrivacy: true,
  ExpirationDate: now + yearSeconds + 0.5,
  StatusList: ["clientTransferProhibited", "addPeriod"],
});
