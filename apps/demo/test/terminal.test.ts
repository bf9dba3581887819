import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Screen } from '../src/terminal/screen.ts'
import { demoEnv, makeDataFolder, removeDataFolder, spawnTerminal, startDemo } from './demo-process.ts'
import type { DemoEnv } from './demo-process.ts'

/** If `script` is missing, the tests of the pseudo terminal are skipped, and fail in CI. */
const hasScript = process.env['CI'] !== undefined || spawnSync('script', ['--version']).status === 0

const supervisor = join(import.meta.dirname, '../src/supervisor.ts')

let dataFolder: string
beforeEach(async () => {
  dataFolder = await makeDataFolder()
})
afterEach(() => removeDataFolder(dataFolder))

/** Sends lines through a pipe and returns the output. */
async function pipe(lines: readonly string[], args = ['--cli'], env: DemoEnv = {}) {
  const child = spawn(process.execPath, [supervisor, ...args], { env: { ...demoEnv(dataFolder), ...env } })
  child.stdin.end(lines.map((line) => `${line}\n`).join(''))
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { stdout, stderr, code: await code }
}

/** Runs the demo in a pseudo terminal. */
function sit(env: DemoEnv = {}) {
  const { child, output, printed } = spawnTerminal(dataFolder, ['--cli'], env)
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  let from = 0
  return {
    output,
    /** Waits for output after the part that was matched before. */
    async sees(pattern: RegExp): Promise<void> {
      const seen = await printed(new RegExp(`^[^]{${from}}[^]*?(?:${pattern.source})`))
      from = seen[0].length
    },
    types: (keys: string) => child.stdin.write(keys),
    ended: () => closed,
  }
}

const escape = '\u001B'
const ctrlC = '\u0003'
const ctrlD = '\u0004'
const colour = new RegExp(`${escape}\\[\\d+m`, 'g')

describe('the terminal, through a pipe', { timeout: 60_000 }, () => {
  it('D35, D43: takes one line after the other: answers on stdout, all else on stderr, no colours', async () => {
    const { stdout, stderr, code } = await pipe([
      ...['index the docs', 'delete the report', 'y', 'where am I', 'Pier 7', 'research knots', 'fail', 'make a plan'],
      ...['/cost', '/timeline', '/sessions', '/nothing', '/help'],
    ])
    expect(code).toBe(0)
    for (const answer of [
      'holds **18 documents**',
      '`q3-draft` is **deleted** for good.',
      'You are at **Pier 7**',
      'The researcher is on its way.',
      '**spare model**',
      'Review: it holds.',
    ])
      expect(stdout).toContain(answer)
    for (const told of [
      /~?\d+ tokens, ~?0\.\d+ USD \(made-up prices\)/,
      / ms {2}tool-execution-start {2}index_docs$/m,
      /^\* cli_\S+ {2}completed {2}index the docs$/m,
      /^\/kill {6}/m,
    ])
      expect(stdout).toMatch(told)
    for (const note of [
      '→ Index the docs {"folder":"docs"}',
      '  18/18 docs/cookbook/testing.md',
      '? Delete a report {"report":"q3-draft","forever":true}',
      'researcher begins',
      'bowline-offline-spare takes over',
      'step review',
      'There is no /nothing.',
    ]) {
      expect(stderr).toContain(note)
      expect(stdout).not.toContain(note)
    }
    expect(stdout + stderr).not.toContain('\u001B')
  })

  it('D35: an approval with changed arguments, another message instead, a fork, a denial; exits with 1 and the status if a question is still open', async () => {
    const { stdout, stderr, code } = await pipe([
      ...['delete the report', '{"report":"../x","forever":true}', '{"report":', '{"report":"q1-final","forever":false}'],
      ...['delete the report', 'tell me a story', '/fork', 'delete the report', 'n', '/stop', 'delete the report'],
    ])
    expect(stderr).toMatch(/must be the name of a report/)
    expect(stderr).toContain('These arguments are no JSON.')
    const answers = ['`q1-final` is in the bin', 'The knot that remembered', 'I have **not** deleted `q3-draft`: denied in the terminal.']
    const places = answers.map((answer) => stdout.indexOf(answer))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(places[0]).toBeGreaterThan(0)
    expect(stderr).toMatch(/Forked as \S+\./)
    expect(stderr).toContain('Nothing is running.')
    expect(stderr).toMatch(/^awaiting-approval$/m)
    expect(code).toBe(1)
  })

  it('D36: once, with the answer alone on stdout, also while the demo is open: then in the same sessions', async () => {
    const demo = await startDemo(dataFolder)
    onTestFinished(() => demo.stop().then(() => undefined))
    const { port } = new URL(demo.url)
    const once = await pipe([], ['--cli', '--once', 'pay the invoice'], { DEMO_PORT: port })
    expect(once).toEqual({ stdout: 'Invoice 2041 is **paid**. The receipt is `R-2041`.\n', stderr: '', code: 0 })
    expect((await pipe(['/sessions'], ['--cli'], { DEMO_PORT: port })).stdout).toMatch(/^ {2}cli_\S+ {2}completed {2}pay the invoice$/m)
    const other = await pipe([], ['--cli', '--once', 'hi'])
    expect(other).toMatchObject({ stdout: '', code: 1 })
    expect(other.stderr).toContain('name it with DEMO_PORT, or take another folder with DEMO_DATA')
  })
})

describe.skipIf(!hasScript)('the terminal, at a pseudo terminal (by script of util-linux)', { timeout: 60_000 }, () => {
  it('D35, D43: streams in colours, asks, edits, and exits at the second Ctrl+C', async () => {
    const { sees, types, output, ended } = sit()
    await sees(/> /)
    types('index the docs\r')
    await sees(/→ Index the docs/)
    await sees(/18\/18/)
    await sees(/documents\*\* with[^]*> /)
    types('delete the report\r')
    await sees(/something else > /)
    types('e\r')
    await sees(/arguments > /)
    types('\u0015{"report":"q2-final","forever":true}\r')
    await sees(/`q2-final` is \*\*deleted\*\* for good[^]*> /)
    types('where am I\r')
    await sees(/to yourself > /)
    types('\r')
    await sees(/keeps the place to itself[^]*> /)
    types(ctrlC)
    await sees(/Ctrl\+C once more leaves/)
    types(ctrlC)
    expect(await ended()).toBe(0)
    expect(output()).toMatch(colour)
  })

  it('D35: Ctrl+C stops a slow answer and stays; NO_COLOR has no colours; Ctrl+D exits', async () => {
    const { sees, types, output, ended } = sit({ DEMO_SPEED: '0.5', NO_COLOR: '1' })
    await sees(/> /)
    types('be slow\r')
    await sees(/I take/)
    types(ctrlC)
    await sees(/I stop it/)
    await sees(/Stopped\.[^]*> /)
    types('what is the weather in Oslo\r')
    await sees(/That is the weather in Oslo[^]*> /)
    types(ctrlD)
    expect(await ended()).toBe(0)
    expect(output()).not.toMatch(colour)
  })

  it('D24, D26: the server is killed in a payment and comes back; a person reports the outcome', async () => {
    const { sees, types, ended } = sit({ DEMO_SPEED: '0.1' })
    await sees(/> /)
    types('/kill in-tool\r')
    await sees(/The server dies in-tool/)
    types('pay the invoice\r')
    await sees(/The server ended \(SIGKILL\)/)
    await sees(/The server is back/)
    await sees(/what became of it\?[^]*nobody knows > /)
    types('y\r')
    await sees(/Invoice 2041 is \*\*paid\*\*[^]*> /)
    types(ctrlD)
    expect(await ended()).toBe(0)
  })
})

describe('the text on the screen', () => {
  function screenOf(isTTY: boolean) {
    const [out, notes]: [string[], string[]] = [[], []]
    const output = (to: string[]) =>
      Object.assign(new Writable({ decodeStrings: false, write: (written: string, _encoding, done) => (to.push(written), done()) }), {
        isTTY,
      })
    return { screen: new Screen(output(out), output(notes)), out: () => out.join(''), notes: () => notes.join('') }
  }

  it('contains no terminal command from a model or a tool', () => {
    for (const isTTY of [true, false]) {
      const { screen, out, notes } = screenOf(isTTY)
      const evil = 'a\u001B]0;title\u0007\u001B[2J\u009Bb\r\n'
      screen.delta(evil)
      screen.answer(evil)
      screen.tell(evil)
      screen.note(evil)
      screen.progress(evil)
      // The terminal itself writes control sequences only for colours and to clear a line.
      const shown = (out() + notes()).replaceAll(colour, '').replaceAll(`\r${escape}[K`, '')
      expect(shown).not.toMatch(/[^\P{Cc}\n]/u)
      expect(out() + notes()).toContain('a]0;title[2Jb')
    }
  })

  it('is a whole answer in a pipe, and its pieces on a terminal; new progress replaces the old', () => {
    const [pipe, terminal] = [screenOf(false), screenOf(true)]
    for (const { screen } of [pipe, terminal]) {
      screen.delta('One')
      screen.delta(' two')
      screen.answer('One two')
      screen.progress('1/2')
      screen.progress('2/2')
      screen.note('done')
    }
    expect([pipe.out(), pipe.notes()]).toEqual(['One two\n', '1/2\n2/2\ndone\n'])
    expect(terminal.out().replaceAll(colour, '')).toBe('One two\n\r\u001B[K1/2\r\u001B[K2/2\r\u001B[Kdone\n')
    expect(terminal.notes()).toBe('')
  })
})
