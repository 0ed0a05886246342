export default function (pi: any) {
  let session = ""
  let cwd = ""
  let brief: Promise<string> | undefined
  let prompts = 0

  function send(event: string, fields: Record<string, unknown> = {}): Promise<string> {
    return hook(event, { session_id: session, cwd, ...fields })
  }

  pi.on("session_start", async (event: any, context: any) => {
    const file: string = context.sessionManager?.getSessionFile?.() ?? ""
    session = /_([^_/\\]+)\.jsonl$/.exec(file)?.[1] ?? context.sessionManager?.getSessionId?.() ?? ""
    cwd = context.cwd
    brief = send("SessionStart", { source: event.reason === "resume" ? "resume" : "startup" })
  })

  pi.on("before_agent_start", async (event: any) => {
    prompts += 1
    const prompt = send("UserPromptSubmit", { prompt: event.prompt, prompt_id: `${session}:${prompts}:${Date.now()}` })
    const texts = [await soon(brief), await soon(prompt)].filter(Boolean)
    if (!texts.length) return
    brief = undefined
    return { message: { customType: "kinen", content: texts.join("\n"), display: false } }
  })

  pi.on("tool_result", async (event: any) => {
    const response = { content: event.content, isError: event.isError }
    void send("PostToolUse", {
      tool_name: event.toolName,
      tool_input: event.input,
      tool_use_id: event.toolCallId,
      tool_response: response,
    })
  })

  pi.on("agent_end", async (event: any) => {
    const last = event.messages.filter((message: any) => message.role === "assistant").at(-1)
    const content = Array.isArray(last?.content) ? last.content : []
    const text = content.map((block: any) => block.text ?? "").join("")
    if (text) void send("Stop", { last_assistant_message: text, prompt_id: `${session}:${prompts}` })
  })

  pi.on("session_shutdown", async () => {
    void send("SessionEnd")
  })

  for (const [name, command] of Object.entries(COMMANDS)) {
    pi.registerCommand(name, {
      description: command.description,
      handler: async (words: string) => pi.sendUserMessage(command.template.replace("$ARGUMENTS", words)),
    })
  }
}
