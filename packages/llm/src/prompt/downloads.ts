import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningFilePart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { toBase64 } from '../json.ts'
import { LlmError } from '../model-error.ts'

/** Fetches a file that the model cannot fetch itself. If it rejects, the call ends with an error. */
export type Download = (url: URL, abortSignal: AbortSignal) => Promise<{ readonly data: Uint8Array; readonly mediaType: string }>

/** URLs that a model can fetch itself, by media type pattern (`*`, `image/*`). */
type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

export interface DownloadContext {
  readonly download: Download
  /** Called only if the prompt contains URLs. */
  readonly supportedUrls: () => Promise<SupportedUrls>
  readonly abortSignal: AbortSignal
}

type PromptFile = LanguageModelV4FilePart | LanguageModelV4ReasoningFilePart
type ToolOutput = LanguageModelV4ToolResultPart['output']

/** Returns the prompt with the content of the files that the model cannot fetch itself. Fetches each URL once, all in parallel. */
export async function withDownloads(prompt: LanguageModelV4Prompt, context: DownloadContext): Promise<LanguageModelV4Prompt> {
  const files = filesByUrl(prompt)
  if (files.length === 0) return prompt
  const supported = await context.supportedUrls()
  const wanted = new Map(files.filter(({ file, url }) => !isSupported(file.mediaType, url, supported)).map(({ url }) => [url.href, url]))
  const downloaded = new Map(
    await Promise.all(
      [...wanted].map(async ([href, url]) => {
        return [href, readDownload(await context.download(url, context.abortSignal))] as const
      }),
    ),
  )
  return mapFiles(prompt, (file) => {
    if (file.data.type !== 'url' || isSupported(file.mediaType, file.data.url, supported)) return file
    const result = downloaded.get(file.data.url.href)
    if (!result) return file
    return { ...file, mediaType: result.mediaType, data: { type: 'data', data: result.data } }
  })
}

/** Anything but bytes would be sent as an empty file. The bytes may come from another realm, so `instanceof` does not work. */
function readDownload(downloaded: Awaited<ReturnType<Download>> | undefined): { data: string; mediaType: string } {
  const { data, mediaType } = downloaded ?? {}
  if (data?.BYTES_PER_ELEMENT === 1 && typeof mediaType === 'string') return { data: toBase64(data), mediaType }
  throw new LlmError('invalid-input', 'download must return { data: Uint8Array, mediaType: string }')
}

function filesByUrl(prompt: LanguageModelV4Prompt): { readonly file: PromptFile; readonly url: URL }[] {
  const files: { file: PromptFile; url: URL }[] = []
  mapFiles(prompt, (file) => {
    if (file.data.type === 'url') files.push({ file, url: file.data.url })
    return file
  })
  return files
}

function isSupported(mediaType: string, { href }: URL, supported: SupportedUrls): boolean {
  return Object.entries(supported).some(
    // Unlike `test`, `search` does not depend on `lastIndex` of a global expression.
    ([pattern, expressions]) =>
      matchesMediaType(mediaType.toLowerCase(), pattern.toLowerCase()) && expressions.some((expression) => href.search(expression) >= 0),
  )
}

/** A media type without a subtype stands for all subtypes, so only a wildcard pattern matches it. */
function matchesMediaType(mediaType: string, pattern: string): boolean {
  if (pattern === '*' || pattern === '*/*') return true
  if (!pattern.endsWith('/*')) return mediaType === pattern
  return mediaType.startsWith(pattern.slice(0, -1)) || mediaType === pattern.slice(0, -2)
}

function mapFiles(prompt: LanguageModelV4Prompt, map: <F extends PromptFile>(file: F) => F): LanguageModelV4Prompt {
  return prompt.map((message): LanguageModelV4Message => {
    switch (message.role) {
      case 'system':
        return message
      case 'user':
        return { ...message, content: message.content.map((part) => (part.type === 'file' ? map(part) : part)) }
      case 'assistant':
        return {
          ...message,
          content: message.content.map((part) => (part.type === 'file' || part.type === 'reasoning-file' ? map(part) : part)),
        }
      case 'tool':
        return {
          ...message,
          content: message.content.map((part) => (part.type === 'tool-result' ? { ...part, output: mapOutput(part.output, map) } : part)),
        }
    }
  })
}

function mapOutput(output: ToolOutput, map: <F extends PromptFile>(file: F) => F): ToolOutput {
  if (output.type !== 'content') return output
  return { ...output, value: output.value.map((item) => (item.type === 'file' ? map(item) : item)) }
}
