import type { DemoPage } from '../demo-page.ts'
import type { RecordedId } from './record.ts'

/** State of the page: a session, its open parts, and the words by which a user recognizes it without colours. */
export interface PageState {
  /** The empty id is the first page. */
  readonly id: RecordedId | ''
  readonly words: readonly string[]
}

/** States by what the user can do. In each group, one tab shows them one after the other. */
export const states: Readonly<Record<string, readonly PageState[]>> = {
  'that wait for the reader': [
    { id: '', words: ['A run that holds.', 'ready'] },
    { id: 'approval', words: ['asks you', 'waiting for user'] },
    { id: 'place', words: ['waiting for you'] },
    { id: 'recovery', words: ['needs you', 'needs recovery', 'Server lost'] },
  ],
  'that are under way': [
    { id: 'streaming', words: ['running', 'connected'] },
    { id: 'tool', words: ['running', '5 of 18', 'Next message'] },
    { id: 'child', words: ['at work in the background'] },
    { id: 'retrying', words: ['Attempt 1 failed', 'waiting for retry'] },
    { id: 'pieces', words: ['running'] },
  ],
  'that have ended well': [
    { id: 'story', words: ['completed'] },
    { id: 'plan', words: ['done', 'free'] },
    { id: 'compaction', words: ['The conversation was compacted'] },
    { id: 'research', words: ['done', 'Background work of researcher is completed'] },
    { id: 'branches', words: ['completed'] },
    { id: 'fork', words: ['completed'] },
  ],
  'that tell of trouble': [
    { id: 'crash', words: ['Server lost', 'No effect happened twice.'] },
    { id: 'retries', words: ['Attempt 3 failed', 'answered'] },
    { id: 'failed', words: ['auth-permanent', 'failed'] },
    { id: 'stopped', words: ['Stopped.', 'failed'] },
    { id: 'limit', words: ['Ended at a limit'] },
    { id: 'hostile', words: ['done'] },
    { id: 'unknown', words: ['completed'] },
  ],
}

/** Dialog, menu, tab or panel that a user opens in a state. */
export interface Opening {
  readonly name: string
  readonly id: RecordedId | ''
  /** Panel that contains it, if there is not enough room for all. */
  readonly panel?: 'Sessions' | 'Timeline' | 'Inspector'
  open(tab: DemoPage): Promise<void>
}

const inspectorTab = (name: string, id: RecordedId, shows: (tab: DemoPage) => Promise<void>): Opening => ({
  name: `the ${name} tab`,
  id,
  panel: 'Inspector',
  async open(tab) {
    await tab.page.getByRole('tab', { name }).click()
    await shows(tab)
  },
})

export const openings: readonly Opening[] = [
  {
    name: 'the command menu',
    id: 'story',
    open: async ({ page }) => (
      await page.getByRole('button', { name: 'Commands' }).click(),
      page.getByPlaceholder('What would you like to do?').waitFor()
    ),
  },
  {
    name: 'the list of keys',
    id: 'story',
    open: async ({ page }) => (
      await page.getByRole('heading', { level: 1 }).click(),
      await page.keyboard.press('?'),
      page.getByRole('dialog', { name: 'Keys' }).waitFor()
    ),
  },
  {
    name: 'the question before a kill',
    id: 'tool',
    open: async ({ page }) => (await page.getByRole('button', { name: 'Kill the server' }).click(), page.getByRole('dialog').waitFor()),
  },
  {
    name: 'the question before deleting',
    id: 'story',
    panel: 'Sessions',
    open: async ({ page }) => (
      await page.getByRole('button', { name: 'Delete tell me a story' }).press('Enter'),
      page.getByRole('alertdialog').waitFor()
    ),
  },
  { name: 'the sessions', id: 'research', panel: 'Sessions', open: async ({ page }) => page.getByRole('searchbox').fill('research') },
  {
    name: 'arguments that are edited, with a mistake',
    id: 'approval',
    open: async ({ page }) => (
      await page.getByRole('button', { name: 'Edit the arguments' }).click(),
      page.getByRole('textbox', { name: 'Arguments' }).fill('{ "report": ')
    ),
  },
  {
    name: 'the question before a record',
    id: 'recovery',
    async open({ page }) {
      await page.getByLabel('It happened', { exact: false }).first().check()
      await page.getByRole('textbox', { name: 'It happened: text for the model' }).fill('The bank shows the payment.')
      await page.getByRole('button', { name: 'Decide …' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'all that folds out',
    id: 'compaction',
    open: async ({ page }) =>
      page
        .locator('[data-testid=conversation] summary')
        .evaluateAll((summaries: HTMLElement[]) => summaries.forEach((summary) => summary.click())),
  },
  inspectorTab('Event', 'crash', async ({ page }) => page.getByLabel('Event', { exact: true }).first().waitFor()),
  inspectorTab('Request', 'plan', async ({ page }) => page.getByTestId('request').waitFor()),
  inspectorTab('Branches', 'branches', async ({ page }) => page.getByTestId('fork').waitFor()),
  {
    name: 'two requests side by side',
    id: 'plan',
    panel: 'Inspector',
    async open({ page }) {
      await page.getByRole('tab', { name: 'Request' }).click()
      await page.getByRole('button', { name: 'Side by side' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  { name: 'the timeline', id: 'crash', panel: 'Timeline', open: async ({ page }) => page.getByTestId('gap').waitFor() },
  {
    name: 'the menu of jumps',
    id: 'crash',
    panel: 'Timeline',
    open: async ({ page }) => (await page.getByRole('button', { name: 'Jump' }).press('Enter'), page.getByRole('menu').waitFor()),
  },
  {
    name: 'the past',
    id: 'crash',
    panel: 'Timeline',
    open: async ({ page }) => (
      await page.getByRole('slider', { name: 'Event' }).fill('8'),
      page.getByTestId('scrubber').getByRole('button', { name: 'Fork from here' }).waitFor()
    ),
  },
]

/** Shows a panel if it is hidden. */
export async function showPanel({ page }: DemoPage, panel: 'Sessions' | 'Conversation' | 'Timeline' | 'Inspector'): Promise<void> {
  const button = page.getByRole('navigation', { name: 'Panels' }).getByRole('button', { name: panel })
  if (await button.isVisible()) await button.press('Enter')
}
