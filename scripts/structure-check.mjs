import { circlesOf, importGraph, shortestCircle } from './import-graph.mjs'

/**
 * @typedef {import('../structure.js').Level} Level
 * @typedef {import('./import-graph.mjs').Edge} Edge
 *
 * @typedef {object} Counts
 * @property {number} upwardImports pairs of files in which one imports from a higher room or from another room of its level
 * @property {number} filesInCirclesByValue
 * @property {number} filesInCircles by value or by type
 *
 * @typedef {object} Place
 * @property {string} room
 * @property {number} level
 *
 * @typedef {object} Verdict
 * @property {readonly string[]} problems reasons why the gate fails
 * @property {readonly string[]} findings every upward import and one circle per group, also below a ceiling
 * @property {Counts} counts
 */

/** @type {Readonly<Record<keyof Counts, string>>} */
const names = {
  upwardImports: 'upward imports',
  filesInCirclesByValue: 'files in circles by value',
  filesInCircles: 'files in circles by value or by type',
}
const kinds = /** @type {readonly (keyof Counts)[]} */ (Object.keys(names))

/**
 * Compares the imports of a package with the order of its rooms.
 *
 * @param {object} given
 * @param {string} given.name
 * @param {readonly Level[] | undefined} given.levels
 * @param {ReadonlyMap<string, string>} given.sources
 * @param {ReadonlyMap<string, string>} [given.ownNames]
 * @param {Counts | undefined} given.ceiling without one, all counts must be 0
 * @returns {Verdict}
 */
export function checkStructure({ name, levels = [], sources, ownNames, ceiling }) {
  const folder = `packages/${name}/src/`
  const edges = importGraph(sources, ownNames)
  const placeOf = placesIn(levels)
  const upward = upwardImports(edges, placeOf).map((found) => tellUpward(found, folder, levels))
  const circles = circlesOf(edges)
  const byValue = circlesOf(edges.filter(({ isType }) => !isType))
  const counts = { upwardImports: upward.length, filesInCirclesByValue: byValue.flat().length, filesInCircles: circles.flat().length }
  const findings = [...upward, ...circles.map((group) => tellCircle(group, edges, folder))]
  const lost = [...sources.keys()].filter((file) => placeOf(file) === undefined)
  const homeless = lost.map(
    (file) => `${folder}${file} is in no room. Add its folder to \`${name}\` in structure.js, or move it to a room that is there.`,
  )
  const judged = ceiling === undefined ? [...findings, ...emptyRooms(name, levels, sources)] : compareWith(ceiling, counts, name)
  return { problems: [...namedTwice(name, levels), ...homeless, ...judged], findings, counts }
}

/**
 * Returns the ceiling lowered to the counts, or undefined if all counts are 0.
 *
 * @param {Counts} ceiling
 * @param {Counts} counts
 * @returns {Counts | undefined}
 */
export function lowered(ceiling, counts) {
  /** @param {keyof Counts} kind */
  const lower = (kind) => Math.min(ceiling[kind], counts[kind])
  if (kinds.every((kind) => lower(kind) === 0)) return undefined
  return {
    upwardImports: lower('upwardImports'),
    filesInCirclesByValue: lower('filesInCirclesByValue'),
    filesInCircles: lower('filesInCircles'),
  }
}

/**
 * @param {Counts} ceiling
 * @param {Counts} counts
 * @param {string} name
 */
function compareWith(ceiling, counts, name) {
  return kinds
    .flatMap((kind) => {
      const found = `${name}: ${counts[kind]} ${names[kind]}, and its ceiling is ${ceiling[kind]}.`
      if (counts[kind] > ceiling[kind])
        return [`${found} List them with \`node scripts/structure.mjs ${name}\` and mend those that are new.`]
      if (counts[kind] < ceiling[kind]) return [`${found} Lower it with \`node scripts/structure.mjs --lower\`.`]
      return []
    })
    .concat(
      kinds.every((kind) => ceiling[kind] === 0)
        ? [`${name}: its ceiling is 0. Remove it with \`node scripts/structure.mjs --lower\`.`]
        : [],
    )
}

/**
 * @param {readonly Level[]} levels
 * @returns {(file: string) => Place | undefined} the room whose folder or file is the closest
 */
function placesIn(levels) {
  const places = levels.flatMap((given, level) => roomsAt(given).flatMap(({ room, holds }) => holds.map((path) => ({ path, room, level }))))
  places.sort((a, b) => b.path.length - a.path.length)
  return (file) => places.find(({ path }) => file === path || file.startsWith(`${path}/`))
}

/** @param {Level} level @returns {{ room: string, holds: readonly string[] }[]} */
function roomsAt(level) {
  const rooms = /** @type {readonly import('../structure.js').Room[]} */ ([level].flat())
  return rooms.map((room) => (typeof room === 'string' ? { room, holds: [room] } : room))
}

/**
 * @param {readonly Edge[]} edges
 * @param {(file: string) => Place | undefined} placeOf
 */
function upwardImports(edges, placeOf) {
  return edges.flatMap((edge) => {
    const from = placeOf(edge.from)
    const to = placeOf(edge.to)
    return from && to && from.room !== to.room && to.level >= from.level ? [{ edge, from, to }] : []
  })
}

/**
 * @param {{ edge: Edge, from: Place, to: Place }} found
 * @param {string} folder
 * @param {readonly Level[]} levels
 */
function tellUpward({ edge, from, to }, folder, levels) {
  const order = levels
    .slice(from.level, to.level + 1)
    .map((level) =>
      roomsAt(level)
        .map(({ room }) => room)
        .join(' | '),
    )
    .join(' < ')
  const where = from.level === to.level ? 'stands beside' : 'is below'
  return [
    `${folder}${edge.from}:${edge.line} imports ${edge.to}${edge.isType ? ' by type' : ''}, but \`${from.room}\` ${where} \`${to.room}\` (${order}).`,
    `Move what it needs to \`${from.room}\` or below, or invert the dependency: let \`${to.room}\` or a room above it hand it in.`,
  ].join(' ')
}

/**
 * @param {readonly string[]} group
 * @param {readonly Edge[]} edges
 * @param {string} folder
 */
function tellCircle(group, edges, folder) {
  const values = edges.filter(({ isType }) => !isType)
  const [inner] = circlesOf(values.filter(({ from, to }) => group.includes(from) && group.includes(to)))
  const circle = inner === undefined ? shortestCircle(group, edges) : shortestCircle(inner, values)
  const way = circle.map(({ from, line, isType }) => `${folder}${from}:${line} ${isType ? '—type→' : '→'}`).join(' ')
  const size = group.length > circle.length ? ` It is one of the circles among ${group.length} files.` : ''
  return `A circle by ${inner === undefined ? 'type' : 'value'}: ${way} ${folder}${circle[0]?.from}. Move what both ends need to a file of its own, or invert the dependency.${size}`
}

/**
 * @param {string} name
 * @param {readonly Level[]} levels
 */
function namedTwice(name, levels) {
  const paths = pathsIn(levels)
  const repeated = paths.filter((path, index) => paths.indexOf(path) !== index)
  return repeated.map((path) => `${name}: structure.js names ${path} twice. Leave it in one room.`)
}

/** @param {readonly Level[]} levels */
function pathsIn(levels) {
  return levels.flatMap((level) => roomsAt(level).flatMap(({ holds }) => holds))
}

/**
 * Returns the rooms without files. A package with a ceiling is still being reordered, so it may name empty rooms.
 *
 * @param {string} name
 * @param {readonly Level[]} levels
 * @param {ReadonlyMap<string, string>} sources
 */
function emptyRooms(name, levels, sources) {
  const empty = pathsIn(levels).filter((path) => ![...sources.keys()].some((file) => file === path || file.startsWith(`${path}/`)))
  return empty.map((path) => `${name}: structure.js names ${path}, and no file is there. Remove it from the list.`)
}
