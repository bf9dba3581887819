import { isRecord, needed } from './arguments.ts'
import { checkInput } from './check.ts'
import type { Message } from './messages.ts'
import { LlmError } from './model-error.ts'
import { knownStart } from './beginnings.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const list = 'a list of parts'

type Fields = Readonly<Record<string, unknown>>

/** Frozen messages that have passed the check and cannot change any more. */
const checked = new WeakSet<object>()

/**
 * Throws `invalid-input` for messages that cannot be converted to a prompt. In a transcript, unknown roles, parts and outputs are
 * allowed; the prompt leaves them out. In a call, only parts of an answer may be unknown, because the caller's input must not be
 * left out.
 */
export function checkMessages(path: string, messages: unknown, isCall: boolean): void {
  checkInput.checkRequired(path, messages, 'a list of messages', Array.isArray)
  const given = messages as readonly unknown[]
  for (let place = knownStart(messages as readonly Message[]); place < given.length; place++) {
    const message = given[place]
    if (isRecord(message) && checked.has(message)) continue
    checkMessage(`${path}[${place}]`, message, isCall)
    if (isCall && Object.isFrozen(message)) checked.add(message as object)
  }
}

function checkMessage(path: string, message: unknown, isCall: boolean): void {
  checkInput.checkRequired(path, message, 'a message', isRecord)
  const { role, content, output, providerOptions } = message as Fields
  if (isCall || !isText(role)) checkRole(`${path}.role`, role)
  checkInput.checkObject(`${path}.providerOptions`, providerOptions)
  switch (role) {
    case 'user':
      if (isText(content)) return
      checkInput.checkRequired(`${path}.content`, content, `a text or ${list}`, Array.isArray)
      return checkParts(`${path}.content`, content, isCall)
    case 'assistant':
      checkInput.checkRequired(`${path}.content`, content, list, Array.isArray)
      return checkParts(`${path}.content`, content, false)
    case 'tool-result':
      checkInput.checkRequired(`${path}.output`, output, "an output, like { type: 'text', value }", isRecord)
      return checkOutput(`${path}.output`, output as Fields, isCall)
  }
}

function checkRole(path: string, role: unknown): void {
  if (role === 'system' || role === 'developer')
    throw new LlmError('invalid-input', `${path} must be user, assistant or tool-result; use instructions for a ${role} prompt`)
  checkInput.checkOneOf(path, needed(role), ['user', 'assistant', 'tool-result'])
}

function checkOutput(path: string, { type, value, reason }: Fields, isCall: boolean): void {
  if (isCall)
    checkInput.checkOneOf(`${path}.type`, needed(type), ['text', 'json', 'content', 'error-text', 'error-json', 'execution-denied'])
  switch (type) {
    case 'text':
    case 'error-text':
      return checkInput.checkRequired(`${path}.value`, value, 'a text', isText)
    case 'execution-denied':
      return checkInput.checkText(`${path}.reason`, reason)
    case 'content':
      checkInput.checkRequired(`${path}.value`, value, list, Array.isArray)
      return checkParts(`${path}.value`, value, isCall)
  }
}

/** The prompt leaves out a call without id or name. */
function checkCall(path: string, { toolCallId, toolName }: Fields): void {
  checkInput.checkText(`${path}.toolCallId`, toolCallId ?? undefined)
  checkInput.checkText(`${path}.toolName`, toolName ?? undefined)
}

/** Loops by index, because iterating over frozen arrays is slow. `areContent`: all parts must be texts or files. */
function checkParts(path: string, parts: unknown, areContent: boolean): void {
  const given = parts as readonly unknown[]
  for (let place = 0; place < given.length; place++) {
    const part = given[place]
    if (!areContent && !isRecord(part)) continue
    const { type } = (part ?? {}) as Fields
    if (areContent || type === 'text' || type === 'file') checkInput.checkContentPart(`${path}[${place}]`, part)
    else if (type === 'reasoning') checkInput.checkRequired(`${path}[${place}].text`, (part as Fields)['text'], 'a text', isText)
    else if (type === 'tool-call') checkCall(`${path}[${place}]`, part as Fields)
    else if (type === 'reasoning-file') checkInput.checkContentPart(`${path}[${place}]`, { ...(part as Fields), type: 'file' })
  }
}
