/**
 * @typedef {object} TestedFile
 * @property {{ readonly name: string }} project
 * @property {() => { readonly cpuMs?: number; readonly referenceMs?: number }} meta
 */

/** Processor time in ms of the reference work of `scripts/test-cost.ts` on the machine of the ceilings: two cores, both in use. */
const usualReferenceMs = 0.6

/** Factor above the ceiling from which on the tests fail: machines, and moments of one machine, differ. */
const tolerance = 2

/**
 * Returns the processor time of each project in seconds, as `scripts/test-cost.ts` has noted it. That of a slower machine is converted
 * to the machine of the ceilings.
 *
 * @param {readonly TestedFile[]} modules
 * @returns {ReadonlyMap<string, number>}
 */
export function costsOf(modules) {
  /** @type {Map<string, number>} */
  const costs = new Map()
  const slowness = slownessOf(modules)
  for (const module of modules) {
    const { name } = module.project
    costs.set(name, (costs.get(name) ?? 0) + (module.meta().cpuMs ?? 0) / 1000 / slowness)
  }
  return costs
}

/** @param {readonly TestedFile[]} modules */
function slownessOf(modules) {
  const times = modules.flatMap((module) => module.meta().referenceMs ?? []).sort((left, right) => left - right)
  return Math.max(1, (times[Math.floor(times.length / 2)] ?? 0) / usualReferenceMs)
}

/**
 * Returns what costs too much: a project whose tests take more processor time than its ceiling allows.
 *
 * @param {ReadonlyMap<string, number>} costs
 * @param {Readonly<Record<string, { readonly testSeconds?: number }>>} ceilings
 */
export function overCost(costs, ceilings) {
  return [...costs].flatMap(([name, seconds]) => {
    const ceiling = ceilings[name]?.testSeconds
    if (ceiling === undefined || seconds <= ceiling * tolerance) return []
    return [
      `${name}: its tests take ${seconds.toFixed(0)} s of processor time, and the ceiling is ${ceiling} s. Make them cheaper, or take some away.`,
    ]
  })
}

/**
 * @param {ReadonlyMap<string, number>} costs
 * @param {Readonly<Record<string, { readonly testSeconds?: number }>>} ceilings
 */
export function tellCosts(costs, ceilings) {
  const told = [...costs].map(([name, seconds]) => {
    const ceiling = ceilings[name]?.testSeconds
    return `${name} ${seconds.toFixed(1)} s${ceiling === undefined ? '' : ` (ceiling ${ceiling})`}`
  })
  return told.length > 0 ? [`processor time of the tests: ${told.join(', ')}`] : []
}
