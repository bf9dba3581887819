import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { ClientSession } from '@bowline/client'
import { SettingsError } from '../server/settings.ts'
import type { Environment } from '../server/settings.ts'
import { runCommand, stop } from './commands.ts'
import type { CommandHost } from './commands.ts'
import { connect } from './connect.ts'
import type { DemoConnection } from './connect.ts'
import { Conversation } from './conversation.ts'
import type { ConversationListener } from './conversation.ts'
import { printEvent } from './print-event.ts'
import { Screen } from './screen.ts'

export interface TalkOptions {
  readonly env: Environment
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  readonly notes: NodeJS.WriteStream
}

/** Runs a conversation in the terminal, or with lines from a pipe in order. Returns the exit code. */
export async function talk({ env, input, output, notes }: TalkOptions): Promise<number> {
  const screen = new Screen(output, notes)
  let connection: DemoConnection
  try {
    connection = await connect(env, { onServer: (text) => screen.note(text, 'yellow') })
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    console.error(error.message)
    return 1
  }
  try {
    const { model, problem } = await connection.info()
    const name = model ? `${model.provider} · ${model.modelId}${model.offline ? ', without network' : ''}. ` : ''
    screen.note(`${name}/help lists the commands.`)
    if (problem) screen.note(problem.message, 'red')
    // Opened only when its lines are read: earlier lines from a pipe would be lost.
    const lines = createInterface({ input, ...(screen.isTerminal && { output }), terminal: screen.isTerminal && input.isTTY })
    return await new Talk(connection, screen, lines).run()
  } finally {
    await connection.close()
  }
}

class Talk implements CommandHost {
  readonly connection: DemoConnection
  readonly screen: Screen
  readonly #lines: Interface
  readonly #listener: ConversationListener
  #conversation: Conversation
  /** Question that was shown last. */
  #asked: string | undefined
  #interrupted = false
  #exitCode = 0

  constructor(connection: DemoConnection, screen: Screen, lines: Interface) {
    this.connection = connection
    this.screen = screen
    this.#lines = lines
    this.#listener = {
      onEvent: (event) => printEvent(screen, event),
      onRest: () => this.#prompt(),
      onWaiting: () => screen.note('No connection. I try again.', 'yellow'),
      onLost: (error) => {
        this.#fail(error)
        this.#exitCode = 1
        lines.close()
      },
    }
    this.#conversation = new Conversation(connection.client.session(`cli_${randomUUID()}`), this.#listener)
  }

  get session(): ClientSession {
    return this.#conversation.session
  }

  get hasBegun(): boolean {
    return this.#conversation.hasBegun
  }

  readonly open = async (session: ClientSession): Promise<void> => {
    const conversation = new Conversation(session, this.#listener)
    await conversation.open()
    this.#conversation.close()
    this.#conversation = conversation
  }

  async run(): Promise<number> {
    const interrupt = (): void => this.#interrupt()
    this.#lines.on('SIGINT', interrupt)
    process.on('SIGINT', interrupt)
    try {
      this.#prompt()
      for await (const line of this.#lines) {
        this.#interrupted = false
        this.screen.dropPrompt()
        await this.#take(line.trim()).catch((error: unknown) => this.#fail(error))
        if (!this.screen.isTerminal) await this.#conversation.rest()
        else if (!this.#conversation.isBusy) this.#prompt()
      }
    } finally {
      process.off('SIGINT', interrupt)
      this.#conversation.close()
      this.#lines.close()
      this.screen.dropPrompt()
      this.screen.endLine()
    }
    if (this.screen.isTerminal || this.#conversation.questions.length === 0) return this.#exitCode
    // The input has ended while a question is open.
    this.screen.note(this.#conversation.status)
    return 1
  }

  async #take(line: string): Promise<void> {
    if (line.startsWith('/')) return runCommand(this, line)
    const [question] = this.#conversation.questions
    if (question && line === 'e' && question.draft !== undefined) return this.#edit(question.draft)
    if (question && (await this.#conversation.answer(question, line))) return
    if (line !== '') await this.#send(line)
  }

  /** Sends an input. If it is refused, the kill point that was set for it is removed. */
  async #send(text: string): Promise<void> {
    try {
      await this.#conversation.send(text)
    } catch (error) {
      // If the server cannot be killed, this is refused too. The user sees the reason of the refused input.
      await this.connection.kill({ at: null, sessionId: this.session.id }).catch(() => undefined)
      throw error
    }
  }

  /** Shows the arguments at the prompt for editing. In a pipe, the next line replaces them. */
  #edit(draft: string): void {
    if (!this.screen.isTerminal) return
    this.#showPrompt('arguments > ')
    this.#lines.write(draft)
  }

  #prompt(): void {
    const [question] = this.#conversation.questions
    this.screen.dropPrompt()
    if (question && question.id !== this.#asked) this.screen.note(question.text, 'yellow')
    this.#asked = question?.id
    if (this.screen.isTerminal) this.#showPrompt(question?.prompt ?? '> ')
  }

  #showPrompt(prompt: string): void {
    this.screen.endLine()
    this.#lines.setPrompt(prompt)
    this.#lines.prompt(true)
    this.screen.hasPrompt(() => this.#showPrompt(prompt))
  }

  #interrupt(): void {
    if (this.#interrupted) return this.#lines.close()
    this.#interrupted = true
    const isOpen = this.#conversation.isBusy || this.#conversation.questions.length > 0
    this.screen.note(isOpen ? 'I stop it. Ctrl+C once more leaves.' : 'Ctrl+C once more leaves.')
    if (isOpen) void stop(this.session, this.screen).catch((error: unknown) => this.#fail(error))
  }

  #fail(error: unknown): void {
    this.screen.note(error instanceof Error ? error.message : String(error), 'red')
  }
}
