import { clock } from "../../core/time.ts";
import type { Registrar } from "./registrar.ts";
import { callRegistrar, connectDomains, type Domains } from "./route53-client.ts";
import { offers } from "./route53-offers.ts";
import { latestOperation, operationOf, register } from "./route53-register.ts";
import { registration, deleteRegistration, setAutoRenew, setNameservers } from "./route53-registrations.ts";

export type Route53RegistrarOptions = {
  /** The time limit of each attempt; a registration has one attempt, every other call three. */
  timeoutMs?: number;
  /** An origin instead of Route 53's, for tests. */
  endpoint?: string;
  now?: () => Date;
};

/** The most that Route 53's clock may be behind ours, rounding included. */
const clockSkewMs = 5_000;

/**
 * Registers names at Amazon Route 53 Domains, in us-east-1. Its role needs route53domains:ListPrices,
 * CheckDomainAvailability, RegisterDomain, GetOperationDetail, ListOperations, GetDomainDetail,
 * UpdateDomainNameservers, EnableDomainAutoRenew, DisableDomainAutoRenew and DeleteDomain. With each name Route 53
 * Domains also creates a hosted zone of its own, which is not used.
 */
export function route53Registrar({
  timeoutMs = 5_000,
  endpoint,
  now = clock,
}: Route53RegistrarOptions = {}): Registrar {
  let connection: Promise<Domains> | undefined;
  const connect = (): Promise<Domains> => (connection ??= connectDomains(timeoutMs, endpoint));
  const { tlds, offer } = offers(connect, now);
  return {
    tlds: () => callRegistrar(tlds),
    offer: (name) => callRegistrar(() => offer(name)),
    register: (input) => callRegistrar(async () => register(await connect(), input)),
    operation: (id) =>
      callRegistrar(async () => {
        const { client, sdk } = await connect();
        return operationOf(await client.send(new sdk.GetOperationDetailCommand({ OperationId: id })));
      }),
    findOperation: (name, since) =>
      callRegistrar(async () => latestOperation(await connect(), name, new Date(since.getTime() - clockSkewMs))),
    registration: (name) => callRegistrar(async () => registration(await connect(), name)),
    setNameservers: (name, nameservers) =>
      callRegistrar(async () => setNameservers(await connect(), name, nameservers)),
    setAutoRenew: (name, autoRenew) => callRegistrar(async () => setAutoRenew(await connect(), name, autoRenew)),
    release: (name) => callRegistrar(async () => deleteRegistration(await connect(), name)),
  };
}
