import type { UserMessageInput } from '@bowline/client'
import type { Download } from '@bowline/llm'
import { base64 } from '../base64url.ts'
import { ProblemError } from '../problems.ts'
import { checkParts } from './check-parts.ts'

type Part = Exclude<UserMessageInput['content'], string>[number]

/** Each may be as large as the download lets it be. */
const maxAddresses = 8

/**
 * The message as it may be stored: files that a client gave by their address are fetched and held as data, so that what
 * the model sees does not change, and nobody fetches them again.
 */
export async function takeFiles(
  download: Download | undefined,
  message: UserMessageInput,
  abortSignal: AbortSignal,
): Promise<UserMessageInput> {
  const { content } = message
  if (typeof content === 'string') return message
  if (!download) {
    checkParts(content)
    return message
  }
  const addresses = content.filter((part) => part.type === 'file' && part.data.type === 'url')
  checkParts(content.filter((part) => !addresses.includes(part)))
  if (addresses.length > maxAddresses) throw new ProblemError('url-not-allowed', `A message may have at most ${maxAddresses} addresses.`)
  const parts = await Promise.all(content.map((part) => fetchPart(download, part, abortSignal)))
  checkParts(parts)
  return { ...message, content: parts }
}

async function fetchPart(download: Download, part: Part, abortSignal: AbortSignal): Promise<Part> {
  if (part.type !== 'file' || part.data.type !== 'url') return part
  if (!URL.canParse(part.data.url)) throw new ProblemError('url-not-allowed', 'The address of a file is no URL.')
  const { data, mediaType } = await download(new URL(part.data.url), abortSignal).catch((cause: unknown) => {
    throw cause instanceof ProblemError ? cause : new ProblemError('invalid-input', 'A file could not be fetched.', { cause })
  })
  return { ...part, mediaType: isWhole(part.mediaType) ? part.mediaType : mediaType, data: { type: 'data', data: base64(data) } }
}

function isWhole(mediaType: string): boolean {
  return /^[^/*]+\/[^/*]+$/.test(mediaType)
}
