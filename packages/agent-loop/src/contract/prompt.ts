import type { LoadedList } from '../base/loaded.ts'

/**
 * A text, a file (needs `@bowline/agent-loop/node`), or a function that is called when the prompt is built and has 30 s to answer.
 * The built prompt is kept, so text that changes with each call belongs in `ephemeral`.
 */
export type TextSource = string | { readonly file: string } | ((context: SectionContext) => string | Promise<string>)

/** The system prompt in parts. They are joined in this order by a blank line; empty parts are left out. */
export interface PromptSections {
  /** Replaces `soul`, and no other section. */
  readonly system?: TextSource
  /** Identity of the agent. Used if there is no `system`. */
  readonly soul?: TextSource
  /** Folder of documentation that the model may read. */
  readonly docs?: DocsSection
  /** Text below identity and docs. */
  readonly append?: TextSource
  /** Facts that the agent remembers. */
  readonly memory?: TextSource
  /** Facts about the user. */
  readonly user?: TextSource
  /** Skills. If several have the same name, the first counts. */
  readonly skills?: LoadedList<Skill>
  /** Platform texts by channel. */
  readonly platform?: Readonly<Record<string, TextSource>>
  /** Facts at the end of the prompt. Default: none. */
  readonly footer?: Footer
}

/** Names a folder of documentation in the prompt, if the folder exists. */
export interface DocsSection {
  /** Path of the folder, as the model sees it. */
  readonly folder: string
  /** Topics that the prompt lists. */
  readonly topics?: readonly string[]
}

/** A skill that the prompt lists. It is listed only if a tool named `read` or `skill` is active. */
export interface Skill {
  readonly name: string
  readonly description: string
  readonly location: string
}

/**
 * Adds the day, the working folder, further lines or the session key to the end of the prompt. Off by default, because text that
 * changes breaks the prompt cache.
 */
export interface Footer {
  /** Adds the day, without the time. */
  readonly date?: boolean
  /** Path of the working folder, as the model sees it. */
  readonly workingFolder?: string
  /** Further lines, added unchanged. */
  readonly lines?: readonly string[]
  /** Adds the session key. Default false. */
  readonly sessionKey?: boolean
}

/** The channel, session, tools and time for which a prompt is built. */
export interface SectionContext {
  readonly channel?: string
  readonly sessionKey?: string
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[]
  /** Time in epoch milliseconds. */
  readonly now: number
}
