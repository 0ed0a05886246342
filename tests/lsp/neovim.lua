-- Opens a note in Neovim with `kinen lsp`, asks for everything, and writes the answers as JSON.
local answers = {}
local buffer = vim.api.nvim_get_current_buf()
vim.cmd('luafile ' .. vim.env.SETTINGS)
vim.bo.filetype = 'markdown'

local function await(what)
  assert(vim.wait(60000, what, 20), 'nothing came')
end

local function ask(method, extra)
  local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(), extra or {})
  local reply = nil
  vim.lsp.buf_request(buffer, method, params, function(err, result)
    reply = { error = err and err.message, result = result }
  end)
  await(function() return reply ~= nil end)
  assert(not reply.error, reply.error)
  return reply.result
end

local function write_answers()
  await(function() return #vim.diagnostic.get(buffer) > 0 end)
  answers.diagnostics = vim.tbl_map(function(d) return { d.lnum, d.message } end, vim.diagnostic.get(buffer))
  vim.fn.search('note-7')
  answers.definition = ask('textDocument/definition').uri
  answers.references = #ask('textDocument/references', { context = { includeDeclaration = false } })
  answers.hover = ask('textDocument/hover').contents.value
  local edit = ask('textDocument/rename', { newName = 'seventh' })
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { '[[note-1 ' }) -- never saved
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buffer), 8 })
  answers.completion = vim.tbl_map(function(item) return item.label end, ask('textDocument/completion').items)
  vim.cmd('undo')
  vim.lsp.util.apply_workspace_edit(edit, 'utf-16')
  vim.cmd('silent wall')
end

local ok, problem = pcall(write_answers)
answers.problem = not ok and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(answers) }, vim.env.ANSWERS)
vim.lsp.stop_client(vim.lsp.get_active_clients())
vim.cmd('qall!')
