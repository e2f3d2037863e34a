import * as z from "zod";

/** The sender of mail: a name in printable ASCII (it may be empty) and an address. */
export type MailSender = { name: string; address: string };

const addressPattern = String.raw`[a-z0-9!#$%&'*+/=?^_{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]`;
const form = new RegExp(
  String.raw`^(?:(?<name>[^\x00-\x1f"\\<>\x7f-\uffff]{1,100}?) +<(?<of>${addressPattern})>|(?<alone>${addressPattern}))$`,
);

/** `Hosted Mail <no-reply@example.com>`, or an address alone. */
export const MailSender = z
  .string()
  .regex(form, { error: "Write the sender as in: Hosted Mail <no-reply@example.com>", abort: true })
  .transform((text): MailSender => {
    const { name = "", of, alone = "" } = form.exec(text)?.groups ?? {};
    return { name: name.trim(), address: of ?? alone };
  });

/** The default sender: an address in the zone of the mail hosts. */
export const senderIn = (mailZone: string): MailSender => ({ name: "Hosted Mail", address: `no-reply@${mailZone}` });

/** A sender as written in a header: `"Hosted Mail" <no-reply@example.com>`. */
export const writtenSender = ({ name, address }: MailSender): string =>
  name === "" ? address : `"${name}" <${address}>`;

/** The domain of an address. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1);
