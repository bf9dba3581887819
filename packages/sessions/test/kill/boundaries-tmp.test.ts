import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PayingPlace, expectSound } from './paying-place.ts'
import { startWorld, type WorldProcess } from './world-process.ts'

let world: WorldProcess
beforeAll(async () => void (world = await startWorld()))
afterAll(() => world.end())
describe.each(['data.db', 'files'])('%s', (storeName) => {
  it.each([1, 20])('undisturbed %d', async (n) => {
    const place = new PayingPlace(storeName, world, n)
    let t = performance.now()
    const lap = (what: string) => { console.log(n, what, Math.round(performance.now() - t)); t = performance.now() }
    const worker = place.startPaying()
    const said = await worker.readUntil((m) => m.type === 'started'); lap('start')
    said.push(...await worker.readUntil((m) => m.type === 'done')); lap('done')
    if (n === 1) console.log(said.map((m) => m.type === 'moment' ? m.what : m.type).join(' '))
    console.log(said.length)
    await worker.kill(); lap('killed')
    await place.bury(worker, said); lap('buried')
    const end = await place.finish(); lap('finished')
    console.log(expectSound(end)); lap('checked')
    await place.remove()
  })
})
