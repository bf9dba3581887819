import type { UserMessageInput } from '@bowline/client'
import { isRecord } from '@bowline/llm/arguments'
import { ProblemError } from '../problems.ts'

type Part = Exclude<UserMessageInput['content'], string>[number]

/** Checks content of a client: it must not make the server fetch an address or set provider options. */
export function checkParts(parts: readonly Part[]): void {
  for (const part of parts) checkPart(part)
}

/** Checks the output of a tool result, which may be any JSON. */
export function checkOutput(output: unknown): void {
  if (isRecord(output) && output.type === 'content' && Array.isArray(output.value)) {
    for (const part of output.value as readonly unknown[]) if (isRecord(part)) checkPart(part)
  }
}

function checkPart(part: { readonly data?: unknown; readonly providerOptions?: unknown }): void {
  if (isRecord(part.data) && part.data.type === 'url') {
    throw new ProblemError('url-not-allowed', 'Send the file itself: addresses are not fetched.')
  }
  if (part.providerOptions !== undefined) {
    throw new ProblemError('option-not-allowed', 'providerOptions can only be set by the server.')
  }
}
