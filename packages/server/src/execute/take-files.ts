import type { UserMessageInput } from '@bowline/client'
import { base64 } from '../base64url.ts'
import { ProblemError } from '../problems.ts'
import { checkParts } from './check-parts.ts'
import type { FetchedFile, FileDownload } from './file-download.ts'

type Part = Exclude<UserMessageInput['content'], string>[number]
type FilePart = Extract<Part, { type: 'file' }>
type AddressPart = FilePart & { readonly data: Extract<FilePart['data'], { type: 'url' }> }

const maxAddresses = 8
/** Maximum bytes of all fetched files of a message. */
const maxFetchedBytes = 10 * 1024 * 1024

/**
 * Returns the message as it can be stored. Files given by their address are fetched and stored as data, so that the model always
 * sees the same content and no file is fetched twice.
 */
export async function takeFiles(
  download: FileDownload | undefined,
  message: UserMessageInput,
  abortSignal: AbortSignal,
): Promise<UserMessageInput> {
  const { content } = message
  if (typeof content === 'string') return message
  if (!download) {
    checkParts(content)
    return message
  }
  const addresses = content.filter(isAddress)
  checkParts(content.filter((part) => !isAddress(part)))
  if (addresses.length > maxAddresses) throw new ProblemError('url-not-allowed', `A message may have at most ${maxAddresses} addresses.`)
  const parts: Part[] = []
  let bytesLeft = maxFetchedBytes
  // Sequential, so that all files together stay within the limit.
  for (const part of content) {
    if (!isAddress(part)) parts.push(part)
    else {
      const file = await fetchFile(download, part.data.url, bytesLeft, abortSignal)
      bytesLeft -= file.data.length
      parts.push(withData(part, file))
    }
  }
  checkParts(parts)
  return { ...message, content: parts }
}

export function hasAddresses({ content }: UserMessageInput): boolean {
  return typeof content !== 'string' && content.some(isAddress)
}

async function fetchFile(download: FileDownload, address: string, bytesLeft: number, abortSignal: AbortSignal): Promise<FetchedFile> {
  if (!URL.canParse(address)) throw new ProblemError('url-not-allowed', 'The address of a file is not a URL.')
  const file = await download(new URL(address), abortSignal, bytesLeft).catch((cause: unknown) => {
    throw cause instanceof ProblemError ? cause : new ProblemError('invalid-input', 'A file could not be fetched.', { cause })
  })
  if (file.data.length > bytesLeft) {
    throw new ProblemError('invalid-input', `The files of a message that are fetched may have at most ${maxFetchedBytes} bytes together.`)
  }
  return file
}

function withData(part: AddressPart, { data, mediaType, toBase64 }: FetchedFile): Part {
  const text = toBase64?.() ?? base64(data)
  return { ...part, mediaType: isWhole(part.mediaType) ? part.mediaType : mediaType, data: { type: 'data', data: text } }
}

function isAddress(part: Part): part is AddressPart {
  return part.type === 'file' && part.data.type === 'url'
}

function isWhole(mediaType: string): boolean {
  return /^[^/*]+\/[^/*]+$/.test(mediaType)
}
