import type { Log } from "../core/log.ts";
import { publicUrl } from "../core/product.ts";
import { clock } from "../core/time.ts";
import { runtime } from "../http/runtime.ts";
import { tableHere } from "../http/worker.ts";
import { FilesEnvironment, filesOf } from "../providers/files/factory.ts";
import type { Files } from "../providers/files/files.ts";
import { payments } from "../providers/payments/factory.ts";
import type { Payments } from "../providers/payments/payments.ts";
import { vatRegisterOf, type VatRegister } from "../providers/vat/vat.ts";
import type { Table } from "../table/table.ts";
import { vatSettings } from "../wallet/vat.ts";
import type { AskContext } from "./ask.ts";
import type { RechargeContext } from "./recharges/recharge.ts";

/** The payment services of this process. Reads the environment when it is called, not at import. */
export function paymentsHere(): { payments: Payments; publicUrl: string } {
  return { payments: payments(tableHere()), publicUrl: publicUrl() };
}

/**
 * The services with which this process asks the payment provider and charges saved cards. Reads the environment when it
 * is called, not at import.
 */
export function askingHere(log: Log): AskContext & RechargeContext {
  return { ...rechargingHere(log), isReadOnly: runtime().env.READ_ONLY !== undefined };
}

/**
 * The services with which this process lists invoices. `address` is the address of the API. The default is the
 * configured address.
 */
export function invoicesHere(address: string | undefined): { table: Table; now: () => Date; address: string } {
  return { table: tableHere(), now: clock, address: address ?? publicUrl() };
}

/** The register that this deployment asks about VAT ids; undefined if this deployment asks no register. */
export const vatRegisterHere = (): VatRegister | undefined => vatRegisterOf(vatSettings()?.register ?? "none");

let files: Files | undefined;

/** The file storage of this process. Reads the environment at the first call, not at import. */
export const filesHere = (): Files => (files ??= filesOf(FilesEnvironment.parse(process.env)));

/** The services with which this process charges saved cards. Reads the environment when it is called, not at import. */
export function rechargingHere(log: Log): RechargeContext {
  const table = tableHere();
  return { table, payments: payments(table), publicUrl: publicUrl(), now: clock, log };
}
