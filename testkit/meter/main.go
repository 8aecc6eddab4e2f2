// SPDX-License-Identifier: Apache-2.0

// Says what passes an interface: one line per IP packet, until its input is closed.
//
//	NANOSECONDS FROM FROMPORT TO TOPORT FLAGS SEQ ACK BYTES PAYLOAD HEAD
//
// BYTES is the IP packet's length, headers included, PAYLOAD that of what TCP carries, HEAD the payload's first bytes
// in hexadecimal digits ("-" without). A packet that is not TCP has ports, FLAGS and numbers of 0. The last line is
// "end SEEN LOST": how many packets the kernel had for us, and how many of them it had no room for.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	allProtocols     = 0x0300 // ETH_P_ALL in network order
	socketLevel      = 263    // SOL_PACKET
	packetStatistics = 6      // PACKET_STATISTICS
	forceBuffer      = 33     // SO_RCVBUFFORCE
	bufferBytes      = 64 << 20
	outgoing         = 4 // PACKET_OUTGOING
	tcp              = 6
	snap             = 512
	// Enough to see what a TLS record is; where a change of ciphers leads, the records behind it too.
	head            = 5
	headOfCiphers   = 120
	changeOfCiphers = 20
	// Lines wait no longer than this before they are written.
	longest = 100 * time.Millisecond
)

func fail(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "meter: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func open(name string) (socket int, isLoopback bool) {
	device, err := net.InterfaceByName(name)
	fail("interface "+name, err)
	socket, err = syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, allProtocols)
	fail("cannot listen on an interface (root is needed)", err)
	// Only the administrator of the whole machine may have more than its limit; what is lost is said in any case.
	if syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, forceBuffer, bufferBytes) != nil {
		fail("receive buffer", syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_RCVBUF, bufferBytes))
	}
	wait := syscall.NsecToTimeval(longest.Nanoseconds())
	fail("receive timeout", syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait))
	fail("bind", syscall.Bind(socket, &syscall.SockaddrLinklayer{Protocol: allProtocols, Ifindex: device.Index}))
	return socket, device.Flags&net.FlagLoopback != 0
}

// What an IP header says; ok is false for what is none.
func internet(packet []byte) (from, to netip.Addr, protocol byte, length, header int, ok bool) {
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		from, _ = netip.AddrFromSlice(packet[12:16])
		to, _ = netip.AddrFromSlice(packet[16:20])
		return from, to, packet[9], int(binary.BigEndian.Uint16(packet[2:])), int(packet[0]&15) * 4, true
	case len(packet) >= 40 && packet[0]>>4 == 6:
		from, _ = netip.AddrFromSlice(packet[8:24])
		to, _ = netip.AddrFromSlice(packet[24:40])
		return from, to, packet[6], 40 + int(binary.BigEndian.Uint16(packet[4:])), 40, true
	}
	return from, to, 0, 0, 0, false
}

func line(out io.Writer, at int64, packet []byte) {
	from, to, protocol, length, header, ok := internet(packet)
	if !ok {
		return
	}
	if protocol != tcp || len(packet) < header+20 {
		fmt.Fprintf(out, "%d %s 0 %s 0 0 0 0 %d %d -\n", at, from, to, length, length-header)
		return
	}
	segment := packet[header:]
	offset := int(segment[12]>>4) * 4
	payload := length - header - offset
	first := "-"
	if payload > 0 && len(segment) > offset {
		seen := segment[offset:]
		most := head
		if seen[0] == changeOfCiphers {
			most = headOfCiphers
		}
		first = hex.EncodeToString(seen[:min(most, len(seen), payload)])
	}
	fmt.Fprintf(out, "%d %s %d %s %d %d %d %d %d %d %s\n", at,
		from, binary.BigEndian.Uint16(segment), to, binary.BigEndian.Uint16(segment[2:]), segment[13],
		binary.BigEndian.Uint32(segment[4:]), binary.BigEndian.Uint32(segment[8:]), length, payload, first)
}

func statistics(socket int) (seen, lost uint32) {
	var counts [2]uint32
	size := uint32(unsafe.Sizeof(counts))
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(socket), socketLevel, packetStatistics,
		uintptr(unsafe.Pointer(&counts)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		fail("statistics", errno)
	}
	return counts[0], counts[1]
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: meter INTERFACE")
		os.Exit(2)
	}
	socket, isLoopback := open(os.Args[1])
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	fmt.Fprintln(out, "ready")
	fail("output", out.Flush())
	packet := make([]byte, snap)
	written := time.Now()
	for {
		n, from, err := syscall.Recvfrom(socket, packet, syscall.MSG_TRUNC)
		switch {
		case err == syscall.EINTR, err == syscall.EAGAIN:
		case err != nil:
			fail("receive", err)
		default:
			note(out, isLoopback, packet[:min(n, snap)], from)
		}
		if now := time.Now(); now.Sub(written) >= longest {
			fail("output", out.Flush())
			written = now
		}
		select {
		case <-closed:
			drain(out, socket, isLoopback)
			return
		default:
		}
	}
}

func note(out io.Writer, isLoopback bool, packet []byte, from syscall.Sockaddr) {
	// Loopback shows each packet twice: as it goes and as it comes.
	if link, is := from.(*syscall.SockaddrLinklayer); is && isLoopback && link.Pkttype == outgoing {
		return
	}
	line(out, time.Now().UnixNano(), packet)
}

// Writes what came until now and the last line.
func drain(out *bufio.Writer, socket int, isLoopback bool) {
	packet := make([]byte, snap)
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		n, from, err := syscall.Recvfrom(socket, packet, syscall.MSG_TRUNC|syscall.MSG_DONTWAIT)
		if err != nil {
			break
		}
		note(out, isLoopback, packet[:min(n, snap)], from)
	}
	seen, lost := statistics(socket)
	fmt.Fprintf(out, "end %d %d\n", seen, lost)
	fail("output", out.Flush())
}
