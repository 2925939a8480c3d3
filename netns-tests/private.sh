# Makes the inside of a new network and mount namespace (sh, sourced; $1 = the executable, or a folder of plugins).
#
# /run, /var/lib/cni, /opt/cni/bin and /etc/cni/net.d become empty and private. Their parents are overlaid first: so
# nothing is made outside, and what is removed outside takes no mount along. The executable is bound, not copied. Other
# folders of plugins become empty, too.
mount -t tmpfs -o mode=755 tmpfs /run
for dir in /var/lib/cni /opt/cni/bin /etc/cni/net.d; do
  top=${dir%%/cni*}
  mkdir -p /run/over$top/upper /run/over$top/work
  mount -t overlay -o lowerdir=$top,upperdir=/run/over$top/upper,workdir=/run/over$top/work overlay $top || true
  mkdir -p $dir
  mount -t tmpfs -o mode=755 tmpfs $dir
done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/netns
# What distributions have of plugins differs from machine to machine.
for dir in /usr/lib/cni /usr/libexec/cni /usr/local/lib/cni /usr/local/libexec/cni; do
  [ ! -d $dir ] || [ $dir = "${REFERENCE_DIR:-}" ] || mount -t tmpfs -o mode=755 tmpfs $dir
done
mount -t sysfs sysfs /sys || true
ip link set lo up
echo 0 >/proc/sys/net/ipv4/ip_forward
echo 0 >/proc/sys/net/ipv6/conf/all/forwarding
if [ -d "$1" ]; then
  for file in "$1"/*; do
    : >/opt/cni/bin/"${file##*/}"
    mount --bind "$file" /opt/cni/bin/"${file##*/}"
  done
  ln -s bridge /opt/cni/bin/pontoon
else
  : >/opt/cni/bin/pontoon
  mount --bind "$1" /opt/cni/bin/pontoon
  ln -s pontoon /opt/cni/bin/bridge
  ln -s pontoon /opt/cni/bin/host-local
fi
