// A kernel module that fails in its own way when a name is written to /proc/kvdrv; kernel-*.txt are its reports under two kernels.
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/delay.h>
struct ring { int head; int *slots; };
static noinline int kvdrv_read_slot(struct ring *ring, int at) { return READ_ONCE(ring->slots[at]); }
static noinline int kvdrv_poll(struct ring *ring) { int v = kvdrv_read_slot(ring, 3); return v + 1; }
static noinline int kvdrv_map(unsigned long page) { int v = READ_ONCE(*(int *)page); return v + 1; }
static noinline int kvdrv_check(int depth) { BUG_ON(depth > 3); return depth + 1; }
static noinline int kvdrv_wait(void) { preempt_disable(); mdelay(60000); preempt_enable(); return 1; }
static ssize_t kvdrv_write(struct file *f, const char __user *buf, size_t n, loff_t *o) {
	char name[16] = {0}; struct ring ring = {0}; int got = 0;
	if (n > 15 || copy_from_user(name, buf, n)) return -EFAULT;
	if (!strncmp(name, "null", 4)) got = kvdrv_poll(&ring);
	if (!strncmp(name, "page", 4)) got = kvdrv_map(0xffffa2c1c0a00000UL);
	if (!strncmp(name, "gpf", 3)) got = kvdrv_map(0xdead000000000108UL);
	if (!strncmp(name, "bug", 3)) got = kvdrv_check(strlen(name) + 4);
	if (!strncmp(name, "soft", 4)) got = kvdrv_wait();
	return n + 0 * got;
}
static const struct proc_ops ops = {.proc_write = kvdrv_write};
static int __init kvdrv_init(void) { proc_create("kvdrv", 0222, NULL, &ops); return 0; }
module_init(kvdrv_init);
MODULE_LICENSE("GPL");
