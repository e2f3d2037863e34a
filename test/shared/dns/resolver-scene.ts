import type { RRset } from "../../../shared/dns/rrset.ts";
import { type Internet, delegated, internet, ns, serving } from "../../support/dns-network.ts";

export const apex = ns("example.test", "ns1.example.test");

/** A simulated internet with the domain `example.test` and its RRsets, and the questions to its nameserver. */
export async function withExample(...rrsets: RRset[]): Promise<Internet & { asked: string[] }> {
  const net = await internet();
  const server = await net.add(serving({ name: "example.test", rrsets: [apex, ...rrsets] }));
  net.registered.push(...delegated("example.test", server));
  return { ...net, asked: server.asked };
}
