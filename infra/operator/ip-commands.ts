import { isIP } from "node:net";

import * as z from "zod";

import { getAccount } from "../../shared/accounts/visible.ts";
import { readEndpoint } from "../../shared/core/endpoint.ts";
import { Id } from "../../shared/core/ids.ts";
import { line } from "../../shared/core/text.ts";
import { clock } from "../../shared/core/time.ts";
import { StockState, type StockHolder } from "../../shared/dedicated-ips/holder.ts";
import { resumeIp, suspendIp } from "../../shared/dedicated-ips/operate.ts";
import { CountryCode, OptionId } from "../../shared/dedicated-ips/options.ts";
import { addStock, listStock, returnStock, withdrawStock } from "../../shared/dedicated-ips/stock.ts";
import { canonicalAddress } from "../../shared/dns/reverse.ts";
import { type Command, accountOption } from "./commands.ts";

const IpAddress = z
  .string()
  .refine((text) => isIP(text) !== 0 && !text.includes("%"), { error: "Not an IP address", abort: true })
  .overwrite(canonicalAddress);

const addressOption = { description: "The address, IPv4 or IPv6.", schema: IpAddress };
const option = { description: "The option with which accounts claim the address, such as eu-1.", schema: OptionId };
const id = { description: "The dedicated IP's id.", schema: Id };

const Asn = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: "Not the number of an autonomous system", abort: true })
  .refine((text) => Number(text) < 2 ** 32, { error: "Not the number of an autonomous system" });

const HostName = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{4,246}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/, {
    error: "Not a host name",
  });

const Relay = z.string().refine((text) => readEndpoint(text) !== undefined, {
  error: "Write an IP address with a port, such as 10.0.0.5:25 or [fd00::5]:25",
});

const stockView = (stock: StockHolder): Record<string, unknown> => ({ ...stock });

/** The operator's commands for the stock of dedicated IPs, and for the dedicated IPs of accounts. */
export const ipCommands: Record<string, Command> = {
  "ip add": {
    summary: "Add an address to the stock of dedicated IPs.",
    options: {
      address: addressOption,
      option,
      country: { description: "The country of the address, such as DE.", schema: CountryCode },
      asn: { description: "The number of the address's autonomous system.", schema: Asn },
      rdns: { description: "The host name of the address, in both reverse and forward DNS.", schema: HostName },
      relay: { description: "The relay that sends mail from the address, such as 10.0.0.5:25.", schema: Relay },
    },
    run: async (table, { address: ip = "", option: option_id = "", country = "", asn = "", rdns = "", relay = "" }) =>
      stockView(await addStock(table, { ip, option_id, country_code: country, asn: Number(asn), rdns, relay })),
  },
  "ip list": {
    summary: "List the addresses in stock.",
    options: {
      option: { ...option, schema: OptionId.optional() },
      state: {
        description: `Only addresses in this state: ${StockState.options.join(", ")}.`,
        schema: StockState.optional(),
      },
    },
    run: async (table, options) => ({ addresses: await listStock(table, options) }),
  },
  "ip return": {
    summary: "Make a resting or faulty address available again.",
    options: { address: addressOption },
    run: async (table, { address: ip = "" }) => stockView(await returnStock(table, ip)),
  },
  "ip withdraw": {
    summary: "Remove an address from the stock. An address that an account has cannot be removed.",
    options: { address: addressOption },
    run: async (table, { address: ip = "" }) => ({ withdrawn: (await withdrawStock(table, ip)).ip }),
  },
  "ip suspend": {
    summary: "Suspend an account's dedicated IP. No mail is sent from a suspended dedicated IP.",
    options: {
      account: accountOption,
      id,
      reason: {
        description: "The reason that the customer reads.",
        schema: line({ most: 200, description: "The reason that the customer reads." }).optional(),
      },
    },
    run: async (table, { account: accountId = "", id: ipId = "", reason }) => {
      await getAccount(table, accountId);
      const { status } = await suspendIp(table, { accountId, id: ipId }, reason ?? null, clock());
      return { dedicated_ip_id: ipId, status };
    },
  },
  "ip resume": {
    summary: "Resume a suspended dedicated IP. It gets its earlier status back.",
    options: { account: accountOption, id },
    run: async (table, { account: accountId = "", id: ipId = "" }) => {
      await getAccount(table, accountId);
      const { status } = await resumeIp(table, { accountId, id: ipId }, clock());
      return { dedicated_ip_id: ipId, status };
    },
  },
};
