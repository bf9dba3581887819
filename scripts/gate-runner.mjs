/**
 * @typedef {object} Gate
 * @property {string} name
 * @property {string} command
 * @property {readonly string[]} [after] gates that must have passed before
 * @property {boolean} [waits] it mostly waits, so it takes no lane
 * @property {boolean} [alone] it measures times: it starts when all others have ended, whether or not they have passed
 *
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 * @typedef {{ code: number, output: string }} Outcome
 *
 * @typedef {object} RunOptions
 * @property {readonly string[]} wanted names; empty means all
 * @property {number} lanes maximum number of concurrent gates
 * @property {(gate: Gate) => Promise<Outcome>} execute
 * @property {(text: string) => void} print
 * @property {() => number} [now]
 */

/**
 * Runs gates, even after one has failed, and returns the sum of their counts.
 *
 * @param {readonly Gate[]} gates
 * @param {RunOptions} options
 * @returns {Promise<Counts>}
 */
export async function runGates(gates, options) {
  const waiting = [...withPrerequisites(gates, options.wanted)]
  /** @type {Map<string, boolean>} */
  const passed = new Map()
  /** @type {Map<Gate, Promise<void>>} */
  const running = new Map()
  const total = { passed: 0, failed: 0, skipped: 0 }

  while (waiting.length > 0 || running.size > 0) {
    const onlyAlone = waiting.every(({ alone }) => alone)
    const next = waiting.find((gate) => (gate.alone ? onlyAlone && running.size === 0 : canStart(gate, passed, running, options.lanes)))
    if (next === undefined) {
      await Promise.race(running.values())
      continue
    }
    waiting.splice(waiting.indexOf(next), 1)
    const blocker = next.after?.find((name) => passed.get(name) === false)
    if (blocker !== undefined) {
      total.failed += 1
      passed.set(next.name, false)
      options.print(`✗ ${next.name}: not run, because ${blocker} failed`)
      continue
    }
    running.set(
      next,
      runGate(next, options).then((counts) => {
        total.passed += counts.passed
        total.failed += counts.failed
        total.skipped += counts.skipped
        passed.set(next.name, counts.failed === 0)
        running.delete(next)
      }),
    )
  }
  return total
}

/** @param {Counts} counts */
export function summaryLine(counts) {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
}

/**
 * Returns the counts of a gate: those of its last line if that is a summary, else one.
 *
 * @param {Outcome} outcome
 * @returns {Counts}
 */
export function countsOf({ code, output }) {
  const lastLine = output.trimEnd().split('\n').at(-1) ?? ''
  const match = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(lastLine)
  if (match === null) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }
  const [passed = 0, failed = 0, skipped = 0] = match.slice(1).map(Number)
  // A runner that fails without a failed test, for example by a threshold or a crash at the end, counts as failed.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, skipped }
}

/**
 * Returns the lines of a gate to show even if it has passed: those that begin with `note: `.
 *
 * @param {string} output
 */
function notesIn(output) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('note: '))
    .map((line) => `  ${line.slice('note: '.length)}`)
}

/**
 * @param {Gate} gate
 * @param {RunOptions} options
 */
async function runGate(gate, { execute, print, now = Date.now }) {
  const startedAt = now()
  const outcome = await execute(gate)
  const counts = countsOf(outcome)
  const seconds = ((now() - startedAt) / 1000).toFixed(1)
  if (counts.failed > 0) print(`${outcome.output.trimEnd()}\n✗ ${gate.name} (${seconds} s): ${gate.command}`)
  else
    print(
      [
        `✓ ${gate.name} (${seconds} s)${counts.passed + counts.skipped > 1 ? `: ${summaryLine(counts)}` : ''}`,
        ...notesIn(outcome.output),
      ].join('\n'),
    )
  return counts
}

/**
 * @param {Gate} gate
 * @param {ReadonlyMap<string, boolean>} passed
 * @param {ReadonlyMap<Gate, unknown>} running
 * @param {number} lanes
 */
function canStart(gate, passed, running, lanes) {
  if (gate.after?.some((name) => !passed.has(name))) return false
  return gate.waits === true || [...running.keys()].filter(({ waits }) => !waits).length < lanes
}

/**
 * @param {readonly Gate[]} gates
 * @param {readonly string[]} wanted
 */
function withPrerequisites(gates, wanted) {
  if (wanted.length === 0) return gates
  const names = new Set(wanted)
  // The table lists a gate after those that it needs, so one pass from the end finds all.
  for (const gate of gates.toReversed()) if (names.has(gate.name)) gate.after?.forEach((name) => names.add(name))
  return gates.filter((gate) => names.has(gate.name))
}
