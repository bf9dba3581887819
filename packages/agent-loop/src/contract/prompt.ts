import type { LoadedList } from '../base/loaded.ts'

/**
 * A text, a file (needs `@bowline/agent-loop/node`), or a function that is asked when the prompt is built, which has
 * 30 s to answer. What changes from call to call belongs into `ephemeral`: the built prompt is kept.
 */
export type TextSource = string | { readonly file: string } | ((context: SectionContext) => string | Promise<string>)

/** The system prompt in parts, in this order, joined by a blank line; what is empty is left out. */
export interface PromptSections {
  /** Takes the place of the identity only. */
  readonly system?: TextSource
  /** Who the agent is, when there is no `system`. */
  readonly soul?: TextSource
  /** Where documentation lies that the model may read. */
  readonly docs?: DocsSection
  /** Below identity and docs. */
  readonly append?: TextSource
  /** What the agent remembers. */
  readonly memory?: TextSource
  /** What is known of the user. */
  readonly user?: TextSource
  /** Of several with one name the first counts. */
  readonly skills?: LoadedList<Skill>
  /** By channel. */
  readonly platform?: Readonly<Record<string, TextSource>>
  /** Facts at the end of the prompt. Default: none. */
  readonly footer?: Footer
}

/** Named in the prompt only if the folder is there. */
export interface DocsSection {
  /** Its path, as the model sees it. */
  readonly folder: string
  /** Listed in the prompt. */
  readonly topics?: readonly string[]
}

/** Listed only while a tool named `read` or `skill` is active. */
export interface Skill {
  readonly name: string
  readonly description: string
  readonly location: string
}

/** Off by default: what changes does not belong into a prompt that is cached. */
export interface Footer {
  /** The day, without the time. */
  readonly date?: boolean
  /** Its path, as the model sees it. */
  readonly workingFolder?: string
  /** Further lines, as they are. */
  readonly lines?: readonly string[]
  /** Names the conversation. Default false. */
  readonly sessionKey?: boolean
}

/** What a prompt is built for. */
export interface SectionContext {
  readonly channel?: string
  readonly sessionKey?: string
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[]
  /** Epoch milliseconds. */
  readonly now: number
}
