import type { Clock } from '@bowline/llm'
import { reloadLists } from '../../base/loaded.ts'
import type { Diagnostic } from '../../base/loaded.ts'
import { untilAborted } from '../../base/promises.ts'
import type { SectionContext } from '../../contract/prompt.ts'
import { assemblePrompt, readStatics } from './assemble.ts'
import type { BuiltPrompt, Statics } from './assemble.ts'
import { canOpenSkills, dayOf, uniqueSkills } from './section-texts.ts'
import type { MergedSections } from './sections.ts'

/** Maximum number of prompts. Channels are few, but days and sessions may be many. */
const limit = 100

interface Entry {
  readonly channel: string | undefined
  readonly prompt: Promise<BuiltPrompt>
  /** The finished prompt, if it has no errors. */
  built: BuiltPrompt | undefined
  /** Aborting it gives up what the build still waits for. */
  readonly building: AbortController
  waiting: number
}

interface PromptOptions {
  readonly clock?: Clock
  /** Signal of the caller. */
  readonly abortSignal?: AbortSignal
}

/** The built prompts of one agent and of the agents that it spawns. A built prompt stays byte-identical. */
export class PromptCache {
  #sections: MergedSections
  #statics: Promise<Statics> | undefined
  #knownStatics: Statics | undefined
  readonly #entries = new Map<string, Entry>()
  /** Facts that functions have read. It is known only after functions have run, and never shrinks. */
  readonly #lookedAt = new Set<WatchedFact>()

  constructor(sections: MergedSections) {
    this.#sections = sections
  }

  /** Skills that are not used because their name is taken, and files that could not be loaded. */
  get diagnostics(): readonly Diagnostic[] {
    return uniqueSkills(this.#sections.skills).diagnostics
  }

  /** Returns a prompt that was built before, without waiting. */
  known(context: SectionContext): BuiltPrompt | undefined {
    const key = this.#keyOf(context)
    const entry = this.#entries.get(key)
    if (entry?.built) this.#keep(key, entry)
    return entry?.built
  }

  /**
   * Returns a prompt, built before or now. Rejects only if the signal is aborted. Callers at the same time share a build. A build
   * with errors is dropped when it is done; a build that no caller waits for is dropped at once.
   */
  async get(context: SectionContext, { clock, abortSignal }: PromptOptions = {}): Promise<BuiltPrompt> {
    for (;;) {
      const known = this.#lookedAt.size
      const prompt = await this.#wait(this.#entryOf(context, clock), abortSignal)
      // Otherwise a function has read a fact that the key did not contain: this may be the prompt of another session.
      if (this.#lookedAt.size === known) return prompt
    }
  }

  /** Drops the prompts of one channel, or all. */
  invalidate(channel?: string): void {
    this.#statics = undefined
    this.#knownStatics = undefined
    for (const [key, entry] of this.#entries) {
      if (channel === undefined || entry.channel === channel) this.#entries.delete(key)
    }
  }

  /** Drops all prompts, and reads skills from folders again. */
  async reload(): Promise<void> {
    const skills = await reloadLists(this.#sections.skills)
    this.#sections = { ...this.#sections, skills }
    this.invalidate()
  }

  /** Returns the static sections, for the fingerprint. The same object until it is dropped. */
  statics(clock?: Clock): Promise<Statics> {
    if (this.#statics) return this.#statics
    const reading = readStatics(this.#sections, clock)
    this.#statics = reading
    void reading.then((statics) => {
      if (this.#statics !== reading) return
      if (statics.complete) this.#knownStatics = statics
      else this.#statics = undefined
    })
    return reading
  }

  /** The static sections, once they have been read. */
  get knownStatics(): Statics | undefined {
    return this.#knownStatics
  }

  async #wait(entry: Entry, abortSignal: AbortSignal | undefined): Promise<BuiltPrompt> {
    entry.waiting++
    try {
      return await (abortSignal ? untilAborted(entry.prompt, abortSignal) : entry.prompt)
    } catch (error) {
      if (entry.waiting === 1) this.#giveUp(entry)
      throw error
    } finally {
      entry.waiting--
    }
  }

  #giveUp(entry: Entry): void {
    for (const [key, kept] of this.#entries) if (kept === entry) this.#entries.delete(key)
    entry.building.abort()
  }

  #entryOf(context: SectionContext, clock: Clock | undefined): Entry {
    const key = this.#keyOf(context)
    const entry = this.#entries.get(key) ?? this.#build(key, context, clock)
    this.#keep(key, entry)
    return entry
  }

  #build(key: string, context: SectionContext, clock: Clock | undefined): Entry {
    const asked = watchContext(context, (fact) => this.#lookedAt.add(fact))
    const building = new AbortController()
    const prompt = assemblePrompt(this.#sections, context, { asked, clock, abortSignal: building.signal })
    const entry: Entry = { channel: context.channel, prompt, building, built: undefined, waiting: 0 }
    void prompt.then((built) => {
      if (built.errors.length === 0) entry.built = built
      const { errors } = built
      if (this.#entries.get(key) !== entry) return
      this.#entries.delete(key)
      const fullKey = this.#keyOf(context)
      if (errors.length === 0 && !this.#entries.has(fullKey)) this.#keep(fullKey, entry)
    })
    return entry
  }

  /** Keeps an entry as the newest: a map keeps the order of its entries. */
  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > limit && oldest !== undefined) this.#entries.delete(oldest)
  }

  /** Returns a key made of everything that the text depends on. */
  #keyOf({ channel, sessionKey, tools, now }: SectionContext): string {
    const { system, soul, skills, footer } = this.#sections
    const named = footer?.sessionKey === true || this.#lookedAt.has('sessionKey')
    return JSON.stringify([
      channel,
      footer?.date === true && dayOf(now),
      named && sessionKey,
      this.#lookedAt.has('tools') && tools,
      skills.length > 0 && canOpenSkills(tools),
      (system ?? soul) === undefined && tools.length > 0,
    ])
  }
}

/** Facts of a context that matter for a prompt only if a function reads them. */
type WatchedFact = 'sessionKey' | 'tools'

/** Returns the same context, but calls `saw` when one of these facts is read, in whatever way. */
function watchContext(context: SectionContext, saw: (fact: WatchedFact) => void): SectionContext {
  const watched = (fact: WatchedFact): PropertyDescriptor => ({
    enumerable: true,
    get() {
      saw(fact)
      return context[fact]
    },
  })
  return Object.freeze(Object.defineProperties({ ...context }, { sessionKey: watched('sessionKey'), tools: watched('tools') }))
}
