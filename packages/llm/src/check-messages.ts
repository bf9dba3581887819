import { checkInput } from './check.ts'
import { isRecord } from './json.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const list = 'a list of parts'

type Fields = Readonly<Record<string, unknown>>

/** Messages that cannot change any more, and were found right. */
const checked = new WeakSet<object>()

/**
 * Throws `invalid-input` for messages that no prompt can be made of. A role, a part or an output of an unknown type is
 * not sent, and is no mistake: it may come from a later version.
 */
export function checkMessages(path: string, messages: unknown): void {
  checkInput.checkRequired(path, messages, 'a list of messages', Array.isArray)
  const given = messages as readonly unknown[]
  for (let place = 0; place < given.length; place++) {
    const message = given[place]
    if (isRecord(message) && checked.has(message)) continue
    checkMessage(`${path}[${place}]`, message)
    if (Object.isFrozen(message)) checked.add(message as object)
  }
}

function checkMessage(path: string, message: unknown): void {
  checkInput.checkRequired(path, message, 'a message', isRecord)
  const { role, content, output, providerOptions } = message as Fields
  checkInput.checkRequired(`${path}.role`, role, 'user, assistant or tool-result', isText)
  checkInput.checkObject(`${path}.providerOptions`, providerOptions)
  switch (role) {
    case 'user':
      if (isText(content)) return
      checkInput.checkRequired(`${path}.content`, content, `a text or ${list}`, Array.isArray)
      return checkParts(`${path}.content`, content)
    case 'assistant':
      checkInput.checkRequired(`${path}.content`, content, list, Array.isArray)
      return checkParts(`${path}.content`, content)
    case 'tool-result':
      checkInput.checkRequired(`${path}.output`, output, "an output, like { type: 'text', value }", isRecord)
      return checkOutput(`${path}.output`, output as Fields)
  }
}

function checkOutput(path: string, { type, value, reason }: Fields): void {
  switch (type) {
    case 'text':
    case 'error-text':
      return checkInput.checkRequired(`${path}.value`, value, 'a text', isText)
    case 'execution-denied':
      return checkInput.checkText(`${path}.reason`, reason)
    case 'content':
      checkInput.checkRequired(`${path}.value`, value, list, Array.isArray)
      return checkParts(`${path}.value`, value)
  }
}

/** A call without id or name is not sent. */
function checkCall(path: string, { toolCallId, toolName }: Fields): void {
  checkInput.checkText(`${path}.toolCallId`, toolCallId ?? undefined)
  checkInput.checkText(`${path}.toolName`, toolName ?? undefined)
}

/** By index: the engine's loops over frozen arrays are slow. */
function checkParts(path: string, parts: unknown): void {
  const given = parts as readonly unknown[]
  for (let place = 0; place < given.length; place++) {
    const part = given[place]
    if (!isRecord(part)) continue
    const { type } = part
    if (type === 'text' || type === 'file') checkInput.checkContentPart(`${path}[${place}]`, part)
    else if (type === 'reasoning') checkInput.checkRequired(`${path}[${place}].text`, part['text'], 'a text', isText)
    else if (type === 'tool-call') checkCall(`${path}[${place}]`, part)
    else if (type === 'reasoning-file') checkInput.checkContentPart(`${path}[${place}]`, { ...part, type: 'file' })
  }
}
