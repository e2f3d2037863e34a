-- Asks the adapter about each letter of a user who logged in: may this login send it, and by which key is it signed?
-- The name of the user is the name of the SMTP session (adapter/sessions.ts). The login decides, never the `From:`
-- alone. A letter that the adapter cannot judge is refused temporarily (451).
local http = require "rspamd_http"
local ucl = require "ucl"

local function addresses(list)
  local found = {}
  for _, one in ipairs(list or {}) do table.insert(found, one.addr) end
  return found
end

local function sign(task)
  local session = task:get_user()
  if not session then return task:set_pre_result("reject", "Log in to send mail.") end
  local from = task:get_header_full("From") or {}
  local authors = addresses(task:get_from("mime"))
  if #from ~= 1 or #authors == 0 then
    return task:set_pre_result("reject", "A letter needs one From header with an address.")
  end
  local envelope = task:get_from("smtp")
  local question = {
    session = session,
    sender = envelope and envelope[1] and envelope[1].addr or "",
    authors = authors,
    recipients = #addresses(task:get_recipients("smtp")),
  }
  local function answered(failure, code, body)
    local parser = ucl.parser()
    if failure or code ~= 200 or not parser:parse_string(body) then
      return task:set_pre_result("soft reject", "Try again later.")
    end
    local verdict = parser:get_object()
    if verdict.refusal then return task:set_pre_result("reject", verdict.refusal) end
    local signed = rspamd_plugins.dkim.sign(task, {
      domain = verdict.domain,
      selector = verdict.selector,
      rawkey = verdict.private_key,
    })
    if not signed then task:set_pre_result("soft reject", "Try again later.") end
  end
  local asked = http.request({
    task = task,
    url = "http://127.0.0.1:@PORT_ADAPTER@/sign",
    method = "post",
    headers = { ["X-Local-Key"] = "@LOCAL_KEY@" },
    mime_type = "application/json",
    body = ucl.to_format(question, "json-compact"),
    timeout = 20,
    callback = answered,
  })
  if not asked then task:set_pre_result("soft reject", "Try again later.") end
end

rspamd_config:register_symbol({ name = "SIGN_BY_LOGIN", type = "normal", callback = sign })
