import type { LanguageModelV4FilePart, SharedV4FileDataData, SharedV4FileDataUrl } from '@ai-sdk/provider'
import type { FileData, FilePart, RepairCode, TextPart } from '../messages.ts'
import type { ModelInput } from './options.ts'
import { hasPart } from './parts.ts'

type Note = (code: RepairCode) => undefined

interface AnyFile {
  readonly mediaType: string
  readonly data: FileData
}

/**
 * Replaces files that cannot be sent by text. Equal adjacent replacements are merged: further ones become `undefined`, so that all
 * other parts keep their positions.
 */
export function withoutRefusedFiles<T extends { readonly type: string }>(
  parts: readonly T[],
  input: ModelInput | undefined,
  note: Note,
): readonly (T | TextPart | undefined)[] {
  if (!hasPart(parts, isFile)) return parts
  let line: string | undefined
  return parts.map((part) => {
    const before = line
    line = isFile(part) ? refusal(part, input) : undefined
    if (line === undefined) return part
    note('file-unsupported')
    return line === before ? undefined : { type: 'text', text: line }
  })
}

function isFile<T extends { readonly type: string }>(part: T | null | undefined): part is T & AnyFile {
  return part?.type === 'file'
}

/** Omits only files that are known to be rejected: a capability that is not stated counts as present. */
function refusal({ mediaType, data }: AnyFile, input: ModelInput | undefined): string | undefined {
  const kind = kindOf(mediaType)
  if (input?.[kind] === false) return `[${kind} omitted: the model does not accept it]`
  if (!canBeSent(data)) return `[${kind} omitted: its address is not a URL]`
  return undefined
}

export function canBeSent(data: FileData): boolean {
  return data.type === 'data' || URL.canParse(data.url)
}

function kindOf(mediaType: string): keyof ModelInput {
  const [topLevel] = mediaType.toLowerCase().split('/')
  return topLevel === 'image' || topLevel === 'audio' ? topLevel : 'file'
}

/** Converts a file of a user or of a tool result. Its address must be a valid URL. */
export function toPromptFile({ mediaType, filename, data, providerOptions }: FilePart): LanguageModelV4FilePart {
  return {
    type: 'file',
    mediaType,
    data: toPromptFileData(data),
    ...(filename && { filename: filename.toWellFormed() }),
    ...(providerOptions && { providerOptions }),
  }
}

/** Passes URLs on without fetching them. */
export function toPromptFileData(data: FileData): SharedV4FileDataData | SharedV4FileDataUrl {
  if (data.type === 'data') return { type: 'data', data: data.data }
  const url = new URL(data.url)
  const originalUrl = data.url.toWellFormed()
  return { type: 'url', url, ...(url.href !== originalUrl && { originalUrl }) }
}
