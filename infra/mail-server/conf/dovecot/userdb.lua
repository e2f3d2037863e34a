-- Dovecot's userdb: asks the adapter for the folder and the quota of a user. A user is <mailbox id>@<account id>.
local client

function script_init()
  client = dovecot.http.client({ timeout = 10000, max_attempts = 2 })
  return 0
end

function script_deinit() end

function auth_userdb_lookup(request)
  local url = "http://127.0.0.1:@PORT_ADAPTER@/mailbox?user=" .. request.user:gsub("[^%w%-@.]", "")
  local question = client:request({ url = url, method = "GET" })
  question:add_header("X-Local-Key", "@LOCAL_KEY@")
  local answer = question:submit()
  if answer:status() == 404 then return dovecot.auth.USERDB_RESULT_USER_UNKNOWN, "" end
  if answer:status() ~= 200 then return dovecot.auth.USERDB_RESULT_INTERNAL_FAILURE, "" end
  return dovecot.auth.USERDB_RESULT_OK, {
    uid = "@STORE_USER@",
    gid = "@STORE_GROUP@",
    home = answer:header("X-Home"),
    quota_rule = "*:bytes=" .. answer:header("X-Quota-Bytes"),
  }
end

function auth_userdb_iterate()
  return {}
end
