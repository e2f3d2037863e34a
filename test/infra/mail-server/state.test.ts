import { linkSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { openJournal } from "../../../infra/mail-server/adapter/journal.ts";
import { openPostfixLog } from "../../../infra/mail-server/adapter/postfix-log.ts";
import { newFolder } from "../../support/folder.ts";

test("a log is read from its beginning if its position is cut off, and the position is then replaced as a whole", () => {
  const folder = newFolder();
  const [log, position] = [join(folder, "postfix-out.log"), join(folder, "postfix-log")];
  writeFileSync(log, "a line\n");
  const journal = openJournal(folder, openApi({ api: "http://127.0.0.1:1", mail_key: "" }), () => {});
  for (const text of ["", '{"inode":1,"off']) {
    writeFileSync(position, text);
    linkSync(position, `${position}.${text.length}`);
    openPostfixLog(log, position, journal)();
    expect(JSON.parse(readFileSync(position, "utf8"))).toMatchObject({ inode: statSync(log).ino, offset: 7 });
    expect(readFileSync(`${position}.${text.length}`, "utf8")).toBe(text);
  }
});
