import { createAdmin } from '@bowline/client/admin'

const admin = createAdmin({ baseUrl: 'http://127.0.0.1:8787', token: process.env['BOWLINE_TOKEN'] ?? '' })
const { schedules, notices } = admin.session('mine')

const news = await schedules.create({ id: 'news', cron: '30 7 * * 1-5', timeZone: 'Europe/Oslo', input: 'What is new?' })
await schedules.pause(news.id) // and resume, list, delete
for (const { id } of (await notices.list({ state: 'failed' })).notices) await notices.resend(id)
const { spent, left, currency } = await admin.tenantSpending()
const { tenant, scopes } = await admin.me() // who the token stands for, and what it may do
console.log(news.status, spent?.total, left, currency, tenant, scopes)

export {}
